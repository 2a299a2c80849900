"""Commands about keys, and about the home folder as a whole."""

import argparse
import getpass
import os
import sys
from pathlib import Path

from contentdb.errors import StoreError, UsageError
from contentdb.identity import check_author_key, fingerprint
from middleware.cli.desk import Desk
from middleware.cli.words import aligned, clean, show_number, show_size

PASSPHRASE = "PASSERBY_PASSPHRASE"
MAX_NAME_CHARACTERS = 100
MAX_BACKUP_BYTES = 65_536


def me(desk: Desk, options: argparse.Namespace) -> int:
    if options.name is not None:
        desk.store.owner_name = _checked_name(options.name)
    if options.action == "export":
        return _export(desk, options)
    if options.action == "import":
        return _import(desk, options)
    key = desk.author.key
    document = {
        "name": desk.store.owner_name,
        "key": key,
        "fingerprint": fingerprint(key),
        "home": str(desk.home),
    }
    nameless = "(none yet; `passerby me --name NAME` gives you one)"
    return desk.show(document, aligned([(name, value or nameless) for name, value in document.items()]))


def _checked_name(name: str) -> str:
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or clean(name) != name:
        raise UsageError(f"a name is 1 to {MAX_NAME_CHARACTERS} printable characters; got {name[:120]!r}")
    return name.strip()


def _export(desk: Desk, options: argparse.Namespace) -> int:
    key = desk.author.key
    backup = desk.keys.export_author(_passphrase(is_new=True))
    if options.file is None:
        text = backup.decode("ascii")
        return desk.show({"key": key, "backup": text}, text.splitlines())
    _write_new(Path(options.file), backup)
    desk.say(f"saved your key {fingerprint(key)} in {options.file}; without the passphrase nobody can use it")
    return desk.show({"key": key, "file": options.file}, [options.file])


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
    try:
        key = desk.keys.import_author(backup, _passphrase(is_new=False), replace=options.replace)
    except UsageError as error:
        advice = "--replace changes that, and keeps the old key beside the new one"
        raise UsageError(str(error).replace("ask for replacement to change that", advice)) from error
    desk.say(f"your key is now {fingerprint(key)}")
    return desk.show({"key": key, "fingerprint": fingerprint(key)}, [key])


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
        blocked = desk.store.feeds.blocked()
        if not blocked:
            desk.say("nobody is blocked")
        return desk.show(blocked, [f"{fingerprint(key)}  {key}" for key in blocked])
    key = check_author_key(options.key)
    if key == desk.author.key and not options.undo:
        raise UsageError("this is your own key; you cannot block yourself")
    desk.store.feeds.block(key, blocked=not options.undo)
    desk.say(f"{fingerprint(key)} is {'no longer ' if options.undo else ''}blocked")
    return desk.show({"key": key, "blocked": not options.undo}, [key])


def storage(desk: Desk, options: argparse.Namespace) -> int:
    use = desk.store.usage()
    hidden = sum(desk.store.entries.hidden(desk.now()).values())
    document = {
        "home": str(desk.home),
        "used": use.used,
        "limit": use.limit,
        "own": use.own,
        "pinned": use.pinned,
        "entries": use.entries,
        "hidden": hidden,
        "feeds": use.feeds,
        "database": use.database,
        "enclosures": use.enclosures,
    }
    entries, feeds = show_number(use.entries, "entry", "entries"), show_number(use.feeds, "feed")
    not_shown = f", {hidden} of them not shown (retracted, expired, blocked or copies)" if hidden else ""
    lines = [
        f"{show_size(use.used)} of {show_size(use.limit)} used: {entries} in {feeds}{not_shown}",
        f"{show_size(use.own)} are your own, {show_size(use.pinned)} more are pinned; they are never evicted",
        f"on disk: database {show_size(use.database)}, files {show_size(use.enclosures)}, in {desk.home}",
    ]
    return desk.show(document, lines)


def doctor(desk: Desk, options: argparse.Namespace) -> int:
    """Check everything that is kept; says what it found and changes nothing but chunks that are wrong."""
    problems = desk.store.problems()
    for root in desk.store.blobs.roots():
        wrong = desk.store.blobs.verify(root, progress=desk.progress(f"checking {root[:8]}"))
        if wrong:
            problems.append(
                f"enclosure {root}: {show_number(len(wrong), 'chunk')} damaged; fetched again when met"
            )
    problems += desk.store.missing_files() + desk.store.unnamed_files() + desk.keys.problems()
    document = {"home": str(desk.home), "problems": problems, "full_text": desk.store.has_full_text}
    lines = problems or [f"all is well in {desk.home}"]
    if not desk.store.has_full_text:
        desk.say("this SQLite has no FTS5: LIKE searches read every entry")
    desk.show(document, lines)
    return 1 if problems else 0
