"""The settings file: its default says what holds anyway, and what is wrong is named."""

import re

import pytest

from contentdb.errors import UsageError
from middleware.config import DEFAULT_FILE, Settings, parse_settings


def test_the_default_file_changes_nothing() -> None:
    assert parse_settings(DEFAULT_FILE) == parse_settings("") == Settings()


def test_each_line_of_the_default_file_shows_the_default() -> None:
    shown = re.sub(r"^# (\w+ =)", r"\1", DEFAULT_FILE, flags=re.M)
    shown = shown.replace("interval_s = 1.0", "")
    assert shown.count(" = ") == 18 and parse_settings(shown) == Settings()


def test_settings_are_read() -> None:
    settings = parse_settings("[hello]\ninterval_s = 2\ninterfaces = ['wlan0']\n[storage]\nmax_bytes = 5\n")
    assert (settings.hello.interval_s, settings.hello.interfaces) == (2.0, ("wlan0",))
    assert settings.storage.max_bytes == 5 and settings.sessions.clients == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[hello", "not valid TOML"),
        ("[hello]\nport = " + "9" * 5000, "not valid TOML"),
        ("[hello]\ninterfaces = " + "[" * 5000, "not valid TOML"),
        ("[helo]", "no group [helo]"),
        ("hello = 3", "write [hello]"),
        ("[hello]\nport = 0", "hello.port is 1 to 65535; got 0"),
        ("[hello]\nport = true", "hello.port is a whole number; got True"),
        ("[hello]\ninterval_s = 'often'", "hello.interval_s is a number; got 'often'"),
        ("[hello]\ninterval_s = 0.01", "hello.interval_s is 0.1 to 3600"),
        ("[hello]\ninterval_s = nan", "hello.interval_s is 0.1 to 3600"),
        ("[hello]\ninterval_s = " + "9" * 400, "hello.interval_s is a number of at most 64 bits"),
        ("[hello]\ninterfaces = 'wlan0'", "hello.interfaces is a list of names; got 'wlan0'"),
        ("[hello]\ninterfaces = [0x" + "f" * 5000 + "]", "hello.interfaces is a list of names; got a list"),
        ("[sessions]\nhandshake_s = inf", "sessions.handshake_s is 1 to 3600"),
        ("[sessions]\nleast_rate = -1", "sessions.least_rate is 0 to"),
        ("[sessions]\nserving = 'both'", "concurrent or sequential"),
        ("[storage]\nmax_bites = 5", "no setting storage.max_bites"),
        ("[storage]\nmax_bytes = 9223372036854775808", "at most 64 bits"),
        ("[storage]\nmax_bytes = -5", "must not be negative"),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        parse_settings(text)
