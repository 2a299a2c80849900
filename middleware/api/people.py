"""Calls about keys, and about the home as a whole."""

from contentdb.errors import UsageError
from contentdb.identity import check_author_key
from contentdb.names import fingerprint
from middleware.api.documents import Document
from middleware.api.home import Home

MAX_NAME_CHARACTERS = 100


def me(home: Home, app: str, *, name: str | None = None) -> Document:
    """Who you are; with a name, what you are called from now on."""
    if name is not None:
        if not name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
            raise UsageError(f"a name is 1 to {MAX_NAME_CHARACTERS} printable characters; got {name[:120]!r}")
        home.store.owner_name = name.strip()
        home.owner_changed()
    key = home.library.key
    return {
        "name": home.store.owner_name,
        "key": key,
        "fingerprint": fingerprint(key),
        "home": str(home.path),
    }


def export_me(home: Home, app: str, *, passphrase: str) -> Document:
    """A backup of the author key, which only the passphrase opens."""
    if not passphrase.strip():
        raise UsageError("an empty passphrase protects nothing; choose several words")
    key = home.library.key
    backup = home.keys.export_author(passphrase).decode("ascii")
    return {"key": key, "fingerprint": fingerprint(key), "backup": backup}


def import_me(home: Home, app: str, *, backup: str, passphrase: str, replace: bool = False) -> Document:
    key = home.keys.import_author(backup.encode(), passphrase, replace=replace)
    home.owner_changed()
    home.library  # noqa: B018  # what this key wrote is own from now on
    return {"key": key, "fingerprint": fingerprint(key)}


def block(home: Home, app: str, *, key: str, blocked: bool = True) -> Document:
    author = check_author_key(key)
    if author == home.library.key and blocked:
        raise UsageError("this is your own key; you cannot block yourself")
    home.store.feeds.block(author, blocked=blocked)
    home.changed()
    return {"key": author, "fingerprint": fingerprint(author), "blocked": blocked}


def blocked(home: Home, app: str) -> list[str]:
    return [str(key) for key in home.store.feeds.blocked()]


def storage(home: Home, app: str) -> Document:
    use = home.store.usage()
    return {
        "home": str(home.path),
        "used": use.used,
        "limit": use.limit,
        "own": use.own,
        "pinned": use.pinned,
        "entries": use.entries,
        "hidden": sum(home.store.entries.hidden(home.at()).values()),
        "feeds": use.feeds,
        "database": use.database,
        "enclosures": use.enclosures,
    }


def tokens(home: Home, app: str) -> list[str]:
    """The apps that have a token, by which they come in over TCP."""
    return home.tokens.apps()


def make_token(home: Home, app: str, *, name: str) -> Document:
    """The token of the app of this name; a new one if it has none."""
    return {"app": name, "token": home.tokens.make(name)}


def revoke_token(home: Home, app: str, *, name: str) -> Document:
    """It opens nothing any more, and connections that it opened end."""
    home.tokens.revoke(name)
    home.revoked.append(name)
    return {"app": name}


def settings(home: Home, app: str) -> Document:
    """The settings the node runs with, by group."""
    from dataclasses import asdict

    home.node  # noqa: B018  # without one, none are in force
    return {} if home.settings is None else asdict(home.settings)
