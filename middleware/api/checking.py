"""The call that looks at everything that is kept, and at what a doctor needs to know of it."""

from contentdb.names import Root
from middleware.api.documents import Document
from middleware.api.home import Home

# A node answers nobody else meanwhile, so it verifies and hashes only what takes a fraction of a second.
MAX_ENTRIES_MEANWHILE, MAX_BYTES_MEANWHILE = 2_000, 64 << 20
MAX_REMEMBERED = 20


def check(home: Home, app: str) -> Document:
    """What is wrong with what is kept; changes nothing but chunks that are wrong, which are then missing."""
    store = home.store
    _, entries = store.feeds.counts.numbers()
    notes, found = [], list[str]()
    if home.has_node and entries > MAX_ENTRIES_MEANWHILE:
        notes.append("the database is too large to check while the node runs: passerby down, then doctor")
    else:
        found += store.problems()
    checked, left = _checked(home)
    found += checked
    if left:
        notes.append(f"{left} files were not checked while the node runs: passerby down, then doctor")
    found += store.missing_files() + store.unnamed_files() + home.keys.problems()
    return {
        "problems": found,
        "notes": notes,
        "full_text": store.has_full_text,
        "waiting": len(store.parked()),
        "used": store.feeds.usage(),
        "limit": store.limits.max_bytes,
        "remembered": list(store.peers.addresses(MAX_REMEMBERED)),
        "neighbours": len(home.node.neighbourhood.neighbours()) if home.has_node else None,
        "hello_port": home.settings.hello.port if home.settings is not None else None,
    }


def _checked(home: Home) -> tuple[list[str], int]:
    """What is damaged, and how many files there was no time for."""
    blobs, found, left = home.store.blobs, list[str](), 0
    room = MAX_BYTES_MEANWHILE
    for root in blobs.roots():
        room -= blobs.received(root)
        if home.has_node and room < 0:
            left += 1
        else:
            found += _damage(home, root)
    return found, left


def _damage(home: Home, root: Root) -> list[str]:
    wrong = home.store.blobs.verify(root, progress=home.progress)
    chunks = "1 chunk" if len(wrong) == 1 else f"{len(wrong)} chunks"
    return [f"enclosure {root}: {chunks} damaged; fetched again when met"] if wrong else []
