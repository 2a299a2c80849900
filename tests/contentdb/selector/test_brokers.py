"""The situations that message brokers test their selectors with, on a message of our own.

Collected from the public suites of ActiveMQ, Artemis, Qpid (Java and C++) and RabbitMQ (its JMS exchange and
its AMQP filter). Brokers tell a match from everything else; we also tell false from unknown. Where they
disagree with each other, JMS decides; where they go beyond it, docs/selectors.md lists the difference.
"""

from pathlib import Path

import pytest

from contentdb.selector import SelectorError, parse

WORDS = {"true": True, "false": False, "unknown": None}
MESSAGE: dict[str, object] = {
    "who": "Ada",
    "WhO": "other",
    "town": "London",
    "land": "UK",
    "note": "This is a short note",
    "code": "AB_12",
    "empty": "",
    "motto": "'All is Well'",
    "odd": "_odd",
    "ends": "XyZ_",
    "signs": "!#$&()*+,-./:;<=>?@[\\]^`{|}~",
    "carrot": "car🥕rot",
    "lines": "one1234\n",
    "JMSType": "test",
    "JMSPriority": 4,
    "age": 123,
    "step": 2,
    "mass": 5,
    "price": 10.5,
    "count": 100,
    "share": 0.25,
    "cold": -5,
    "none": 0,
    "small": 33,
    "far": 1.2e6,
    "tiny": 3.5e-4,
    "huge": 6.02e23,
    "yes": True,
    "no": False,
    "gone": None,
}


def broker_cases() -> list[tuple[str, str]]:
    lines = Path(__file__).with_name("brokers.txt").read_text(encoding="utf-8").splitlines()
    return [(line[:8].strip(), line[8:]) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(("expected", "text"), [case for case in broker_cases() if case[0] in WORDS])
def test_what_brokers_match_matches(expected: str, text: str) -> None:
    assert parse(text).evaluate(MESSAGE) is WORDS[expected]


@pytest.mark.parametrize("text", [text for expected, text in broker_cases() if expected == "refused"])
def test_what_brokers_refuse_is_refused(text: str) -> None:
    with pytest.raises(SelectorError):
        parse(text)


@pytest.mark.parametrize(
    "text", ["land \t\f\n\r = \t\f\n\r 'UK'", " \t\nland = 'UK' \r ", "land\t=\t'UK'\nAND\rmass\f>\t3"]
)
def test_all_white_space_of_java_separates(text: str) -> None:
    assert parse(text).evaluate(MESSAGE) is True


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        # Qpid C++ matches: to it, a text that is compared with a number is false.
        ("NOT who = 17 OR step = 5.6", None),
        # Qpid C++ divides integers without remainder.
        ("17 / 4 = 4", False),
        # RabbitMQ's AMQP filter has an order of texts.
        ("land > 'DE'", None),
        ("who BETWEEN 'A' AND 'B'", None),
        # ActiveMQ skips comments; to JMS, this is 1 minus minus comment.
        ("age = 1 -- comment", None),
        # RabbitMQ's AMQP filter has names with hyphens; to JMS, they are subtractions.
        ("p.group-id LIKE 'a%'", None),
    ],
)
def test_where_brokers_differ_the_language_of_jms_is_kept(text: str, ours: bool | None) -> None:
    assert parse(text).evaluate(MESSAGE) is ours


@pytest.mark.parametrize(
    "text",
    [
        *("who + '!' = 'Ada!'", "REGEX('a', who)", "XPATH 'a/b'"),  # ActiveMQ's additions
        *("land != 'US'", "mass % 2 = 1"),  # RabbitMQ's additions
        *(
            "-354",
            "(354.6)",
            "-(yes or no)",
            "-687 or 567",
            "+mass",
            "who is null and 'hello'",
        ),  # no conditions
        *("019 = 19", '"who" = 1', "age = 99999999999999999999"),
    ],
)
def test_what_brokers_have_added_to_jms_is_refused(text: str) -> None:
    with pytest.raises(SelectorError):
        parse(text)
