"""Where a person's home is, if nobody says: PASSERBY_HOME, or where the platform keeps a program's data."""

import os
import sys


def default_home() -> str:
    given = os.environ.get("PASSERBY_HOME")
    if given:
        return given
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/passerby")
    if sys.platform == "win32":
        return os.path.join(
            os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local"), "passerby"
        )
    # The specification of XDG_DATA_HOME says that a relative path is to be ignored.
    data = os.environ.get("XDG_DATA_HOME") or ""
    return os.path.join(data if os.path.isabs(data) else os.path.expanduser("~/.local/share"), "passerby")
