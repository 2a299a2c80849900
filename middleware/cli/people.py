"""Commands about keys, and about the home folder as a whole."""

import argparse
import getpass
import os
import sys
from pathlib import Path

from contentdb.errors import StoreError, UsageError
from contentdb.names import fingerprint
from middleware.cli.desk import Desk
from middleware.cli.words import aligned, show_number, show_size

PASSPHRASE = "PASSERBY_PASSPHRASE"
MAX_BACKUP_BYTES = 65_536


def me(desk: Desk, options: argparse.Namespace) -> int:
    if options.action == "import":  # first: asking who one is makes a key where there is none
        return _import(desk, options)
    shown = desk.call("me", name=options.name)
    if options.action == "export":
        return _export(desk, options)
    nameless = "(none yet; `passerby me --name NAME` gives you one)"
    return desk.show(shown, aligned([(name, value or nameless) for name, value in shown.items()]))


def _export(desk: Desk, options: argparse.Namespace) -> int:
    made = desk.call("export_me", passphrase=_passphrase(is_new=True))
    if options.file is None:
        return desk.show(made, made["backup"].splitlines())
    _write_new(Path(options.file), made.pop("backup").encode("ascii"))
    told = f"saved your key {made['fingerprint']} in {options.file}"
    desk.say(f"{told}; without the passphrase nobody can use it")
    return desk.show({**made, "file": options.file}, [options.file])


def _write_new(path: Path, backup: bytes) -> None:
    """Whole or not at all, and never over another backup: that may be the only way back to an older key."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(
            f"{path} is there already, and may be your only other backup; choose another name"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    try:
        with open(descriptor, "wb") as file:
            file.write(backup)
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        path.unlink()
        raise StoreError(f"cannot write {path}: {error.strerror}; nothing was saved") from error


def _import(desk: Desk, options: argparse.Namespace) -> int:
    try:
        with Path(options.file).open("rb") as file:
            backup = file.read(MAX_BACKUP_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {options.file}: {error.strerror}") from error
    passphrase = _passphrase(is_new=False)
    try:
        text = backup.decode("ascii")
        made = desk.call("import_me", backup=text, passphrase=passphrase, replace=options.replace)
    except UnicodeDecodeError:
        raise UsageError(f"{options.file} is no key backup") from None
    except UsageError as error:
        advice = "--replace changes that, and keeps the old key beside the new one"
        raise UsageError(str(error).replace("ask for replacement to change that", advice)) from error
    if options.name is not None:
        desk.call("me", name=options.name)
    desk.say(f"your key is now {made['fingerprint']}")
    return desk.show(made, [made["key"]])


def _passphrase(*, is_new: bool) -> str:
    given = os.environ.get(PASSPHRASE)
    if given is None and not sys.stdin.isatty():
        raise UsageError(f"a passphrase is needed: run this in a terminal, or set {PASSPHRASE}")
    passphrase = getpass.getpass("Passphrase: ") if given is None else given
    if is_new and not passphrase.strip():
        raise UsageError("an empty passphrase protects nothing; choose several words")
    if is_new and given is None and getpass.getpass("Once more: ") != passphrase:
        raise UsageError("the two passphrases differ; nothing was written")
    return passphrase


def block(desk: Desk, options: argparse.Namespace) -> int:
    if options.key is None:
        blocked = desk.call("blocked")
        if not blocked:
            desk.say("nobody is blocked")
        return desk.show(blocked, [f"{fingerprint(key)}  {key}" for key in blocked])
    done = desk.call("block", key=options.key, blocked=not options.undo)
    desk.say(f"{done['fingerprint']} is {'no longer ' if options.undo else ''}blocked")
    return desk.show(done, [done["key"]])


def token(desk: Desk, options: argparse.Namespace) -> int:
    if options.app is None:
        apps = desk.call("tokens")
        if not apps:
            desk.say("no app has a token; `passerby token APP` makes one")
        return desk.show(apps, apps)
    if options.revoke:
        done = desk.call("revoke_token", name=options.app)
        desk.say(f"{options.app} is no longer let in over TCP")
        return desk.show(done, [done["app"]])
    made = desk.call("make_token", name=options.app)
    desk.say(f"whoever shows this token is {options.app}, and may do all that you can: keep it secret")
    return desk.show(made, [made["token"]])


def storage(desk: Desk, options: argparse.Namespace) -> int:
    use = desk.call("storage")
    entries, feeds = show_number(use["entries"], "entry", "entries"), show_number(use["feeds"], "feed")
    hidden = f", {use['hidden']} of them not shown (retracted, expired, blocked or copies)"
    own, pinned = show_size(use["own"]), show_size(use["pinned"])
    on_disk = f"database {show_size(use['database'])}, files {show_size(use['enclosures'])}"
    lines = [
        f"{show_size(use['used'])} of {show_size(use['limit'])} used: {entries} in {feeds}"
        + (hidden if use["hidden"] else ""),
        f"{own} are your own, {pinned} more are pinned; they are never evicted",
        f"on disk: {on_disk}, in {use['home']}",
    ]
    return desk.show(use, lines)
