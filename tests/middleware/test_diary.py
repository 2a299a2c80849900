"""Whom a node met in the last day, also in an earlier run."""

from contentdb.names import NodeId
from middleware.diary import MAX_CONTACTS, Contact, Diary
from middleware.logbook import ContactBegan, ContactEnded, Line, NodeStarted, NodeStopped, encode_line

ANN, BEN = NodeId("aa" * 32), NodeId("bb" * 32)


def line(at: int, fact: ContactBegan | ContactEnded | NodeStarted | NodeStopped) -> str:
    return encode_line(Line(NodeId("00" * 32), at, at, at / 1000, fact))


def test_contacts_are_told_newest_first_with_their_ends() -> None:
    diary = Diary()
    diary.began(ANN, 10)
    diary.began(BEN, 20)
    diary.ended(ANN, 30)
    assert diary.since(0) == [Contact(BEN, 20), Contact(ANN, 10, 30)]
    assert diary.since(31) == [Contact(BEN, 20)]


def test_an_end_without_a_beginning_is_none() -> None:
    diary = Diary()
    diary.ended(ANN, 10)
    assert diary.since(0) == []


def test_an_earlier_run_is_recalled_before_what_happened_since() -> None:
    diary = Diary()
    diary.began(BEN, 500)
    lines = [
        line(10, ContactBegan(ANN, 1)),
        line(40, ContactEnded(ANN, 30.0, 0)),
        line(500, ContactBegan(BEN, 1)),
    ]
    diary.precede(Diary.recalled(lines, before_seq=500))
    assert diary.since(0) == [Contact(BEN, 500), Contact(ANN, 10, 40)]


def test_a_run_that_stopped_or_was_killed_ended_its_contacts() -> None:
    lines = [
        line(10, ContactBegan(ANN, 1)),
        line(20, NodeStopped(1)),
        line(30, NodeStarted("e", 1)),
        line(40, ContactBegan(BEN, 1)),
        line(50, ContactBegan(ANN, 2))[:25],
    ]
    diary = Diary.recalled(lines, before_seq=100)
    assert diary.since(0) == [Contact(BEN, 40, 40), Contact(ANN, 10, 20)]


def test_only_so_many_contacts_are_kept() -> None:
    diary = Diary()
    for at in range(MAX_CONTACTS + 10):
        diary.began(ANN, at)
        diary.ended(ANN, at)
    assert len(diary.since(0)) == MAX_CONTACTS
