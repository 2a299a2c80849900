"""Recorded contacts: both forms are read as they are meant, and what is wrong is named by its line."""

import gzip
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contentdb.errors import UsageError
from evaluation.simulator.contacts import Change, Contact, changes, merged, nodes_of
from evaluation.simulator.traces import MAX_LINE_BYTES, read_trace

SCHOOL = Path(__file__).parents[3] / "shared/data/contacts-sociopatterns/primary-school-2009.contacts.csv.gz"
CSV = "start_s,end_s,a,b\n20,40,ann,bob\n0,20,bob,ann\n60,80.5,bob,carl\n"
ONE = "# made by hand\n0.0 CONN 1 2 up\n\n5 CONN 2 1 down\n5 CONN 1 3 up\n7.25 CONN 1 2 up\n9 CONN 1 3 down\n"


def written(folder: Path, text: str | bytes, name: str = "trace") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_intervals_that_touch_are_one_contact(tmp_path: Path) -> None:
    contacts = read_trace(written(tmp_path, CSV))
    assert contacts == [Contact(0, 40, "ann", "bob"), Contact(60, 80.5, "bob", "carl")]
    assert nodes_of(contacts) == ["ann", "bob", "carl"]


def test_connections_of_the_one_are_read_and_what_stays_up_lasts(tmp_path: Path) -> None:
    contacts = read_trace(written(tmp_path, ONE))
    assert contacts == [Contact(0, 5, "1", "2"), Contact(5, 9, "1", "3"), Contact(7.25, math.inf, "1", "2")]


def test_a_gzipped_trace_is_read_like_a_plain_one(tmp_path: Path) -> None:
    plain = read_trace(written(tmp_path, CSV))
    assert read_trace(written(tmp_path, gzip.compress(CSV.encode()), "trace.csv.gz")) == plain


def test_who_meets_himself_is_passed_over(tmp_path: Path) -> None:
    text = "0 CONN a a up\n0 CONN a b up\n1 CONN a a down\n2 CONN a b down\n3 CONN b b up\n"
    assert read_trace(written(tmp_path, text)) == [Contact(0, 2, "a", "b")]


WRONG = [
    ("start_s,end_s,a,b\n0,20,ann\n", "line 2: expected start_s,end_s,a,b; got '0,20,ann'"),
    ("start_s,end_s,a,b\n0,20,a,b\n30,30,a,b\n", "line 3: a contact ends after it starts; got 30 to 30"),
    ("start_s,end_s,a,b\n-1,20,a,b\n", "line 2: expected seconds such as 12 or 12.5; got '-1'"),
    ("start_s,end_s,a,b\nnan,20,a,b\n", "line 2: expected seconds such as 12 or 12.5; got 'nan'"),
    ("start_s,end_s,a,b\n0,20,a,b c\n", "line 2: a name is 1 to 64 of A-Z a-z 0-9 _ . -; got 'b c'"),
    ("0,20,a,b\n", "line 1: expected 'start_s,end_s,a,b' in the first line, or <time> CONN <a> <b> up|down"),
    ("0 CONN a b up\n1 CONN b a up\n", "line 2: a and b are up already"),
    ("0 CONN a b up\n1 CONN c a down\n", "line 2: a and c are down already"),
    ("5 CONN a b up\n4 CONN a b down\n", "line 2: time goes back from 5 to 4"),
    ("0 C M1 a b 500\n", "line 1: expected"),
    ("x" * (MAX_LINE_BYTES + 1), "line 1: longer than 512 bytes"),
    ("", "is empty"),
    ("# nothing\n", "has no contact in it"),
    (b"\xff\xfe", "is not plain text"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_the_first_wrong_line_is_named(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_trace(written(tmp_path, text))
    assert said in str(raised.value)


@pytest.mark.parametrize("cut", [3, 20, -1])
def test_a_gzip_file_that_is_cut_or_damaged_is_refused(tmp_path: Path, cut: int) -> None:
    with pytest.raises(UsageError):
        read_trace(written(tmp_path, gzip.compress(CSV.encode())[:cut], "trace.gz"))
    with pytest.raises(UsageError, match="cannot read"):
        read_trace(written(tmp_path, b"no gzip at all", "trace.gz"))
    with pytest.raises(UsageError, match="cannot read"):
        read_trace(tmp_path / "missing")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(alphabet="01.,-#ab \n") | st.binary(max_size=60), st.sampled_from([CSV, ONE]), st.integers(0, 80)
)
def test_rubbish_is_read_or_refused(tmp_path: Path, rubbish: str | bytes, text: str, at: int) -> None:
    noise = rubbish if isinstance(rubbish, bytes) else rubbish.encode()
    try:
        contacts = read_trace(written(tmp_path, text.encode()[:at] + noise + text.encode()[at:]))
    except UsageError:
        return
    assert all(each.start_s < each.end_s and each.one < each.two for each in contacts)


PLACES = st.sampled_from("abc")
CONTACTS = st.builds(
    lambda start, lasts, pair: Contact(float(start), float(start + lasts), *sorted(pair)),
    st.integers(0, 20), st.integers(1, 9), st.sets(PLACES, min_size=2, max_size=2),
)  # fmt: skip


@given(st.lists(CONTACTS))
def test_merged_contacts_are_the_same_time_in_range(contacts: list[Contact]) -> None:
    def seconds(of: list[Contact]) -> set[tuple[str, str, int]]:
        return {(c.one, c.two, s) for c in of for s in range(int(c.start_s), int(c.end_s))}

    made = merged(contacts)
    assert seconds(made) == seconds(contacts) and made == sorted(made)
    state: dict[tuple[str, str], bool] = {}
    for change in changes(made, 100):
        assert state.get((change.one, change.two), False) is not change.is_up
        state[change.one, change.two] = change.is_up
    assert not any(state.values())


def test_changes_stop_where_they_are_told_to() -> None:
    rows = [Contact(0, 5, "a", "b"), Contact(5, 9, "a", "c")]
    assert list(changes(rows, 5)) == [
        Change(0, True, "a", "b"),
        Change(5, False, "a", "b"),
        Change(5, True, "a", "c"),
    ]


@pytest.mark.skipif(
    not SCHOOL.exists(), reason=f"{SCHOOL.name} is not beside this checkout, in ../shared/data"
)
def test_the_school_has_as_many_pupils_and_contacts_as_its_origin_says() -> None:
    contacts = read_trace(SCHOOL)
    assert (len(contacts), len(nodes_of(contacts))) == (77_521, 242)
