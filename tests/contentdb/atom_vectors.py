"""Makes tests/vectors/entry-v1.json: ``python -m tests.contentdb.atom_vectors``.

The file is part of the specification. It changes only together with docs/protocol/entry-v1.md.
"""

import hashlib
import json
from dataclasses import fields, is_dataclass
from pathlib import Path

from contentdb.atom import write_descriptor, write_entry
from contentdb.identity import AuthorSecret
from contentdb.model import (
    Category,
    Content,
    Enclosure,
    Entry,
    Feed,
    Generator,
    Link,
    Person,
    Signed,
    Source,
    Text,
    Time,
)
from contentdb.names import EntryId, FeedId, Root, owned_feed_id

PATH = Path(__file__).parents[1] / "vectors" / "entry-v1.json"
ALICE = AuthorSecret.from_bytes(bytes(range(32)))
BOB = AuthorSecret.from_bytes(bytes(range(32, 64)))
OPEN = FeedId("urn:uuid:0b0b0b0b-0000-4000-8000-000000000001")
DIV = '<div xmlns="http://www.w3.org/1999/xhtml">Words &amp; <b>more</b></div>'

PLAIN = Entry(
    id=EntryId("urn:uuid:0a0a0a0a-0000-4000-8000-000000000001"),
    title=Text("Corner of 5th"),
    updated=1_700_000_000_123,
    published=1_700_000_000_000,
    authors=(Person("Alice"),),
    feed=OPEN,
    author=ALICE.key,
)
FULL = Entry(
    id=EntryId("tag:example.org,2024:full"),
    title=Text("R&amp;B <b>live</b>", "html", language="en-GB", base="http://example.org/"),
    updated=-1,
    published=0,
    authors=(Person("Ærø \U0001f600", "http://example.org/æ", "a@example.org", ('<k xmlns="urn:k:1"/>',)),),
    contributors=(Person("Bob"),),
    categories=(Category("jazz", "http://example.org/tags", 'with "quotes"\tand\nlines'), Category("")),
    summary=Text(DIV, "xhtml"),
    content=Content("text", "a < b > c & d\r\n]]>"),
    links=(Link("http://example.org/1", "related", "text/html", "de", "Eins", 17), Link("urn:x:1")),
    rights=Text("Public domain", language=""),
    source=Source(id="urn:x:feed", title=Text("Origin"), updated=1, generator=Generator("G", "urn:g:1", "2")),
    language="de",
    extensions=('<x:e xmlns:q="urn:q:1" xmlns:x="urn:x:1" x:t="q:v">tail<i xmlns="">&amp;</i></x:e>',),
    feed=owned_feed_id(ALICE.key, "music"),
    author=BOB.key,
    attributes={
        "b": True,
        "decimal": 0.1,
        "big": 1e300,
        "whole": -0.0,
        "i": -(2**63),
        "string": " 01234 ",
        "when": Time(951_827_400_000),
        "ö": "",
    },
    expires=253_402_300_799_999,
    enclosures=(Enclosure("take 1.ogg", "audio/ogg", 16_385, Root("cd" * 32)),),
)
RETRACTED = Entry(
    id=PLAIN.id,
    title=Text("retracted"),
    updated=PLAIN.updated + 1,
    feed=OPEN,
    author=ALICE.key,
    retracted=True,
)
OTHERS = {
    "content elsewhere": Content("video/mp4", "", "http://example.org/v", "en"),
    "content in base64": Content("image/png", "iVBORw0KGgo="),
    "content that is markup": Content("image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
}
ENTRIES = {"plain": PLAIN, "everything": FULL, "retracted": RETRACTED}
LANGUAGES = Entry(
    id=EntryId("urn:uuid:0a0a0a0a-0000-4000-8000-000000000200"),
    title=Text("Summer"),
    updated=1_700_000_000_000,
    authors=(Person("Zoé", language="fr"), Person("Ann", "urn:x:ann", language="")),
    categories=(Category("summer", None, "Été", "fr"),),
    links=(Link("urn:x:1", "related", title="Été", language="fr"),),
    source=Source(generator=Generator("Générateur", language="fr-CA")),
    language="en",
    feed=OPEN,
    author=ALICE.key,
)
FEEDS = {
    "an open feed": Feed(OPEN, Text("Street music"), 1_700_000_000_000, signer=ALICE.key),
    "an owned feed": Feed(
        owned_feed_id(ALICE.key, "music"),
        Text("Alice's"),
        1_700_000_000_000,
        subtitle=Text("Only mine"),
        categories=(Category("music"),),
        icon="http://example.org/i.png",
        signer=ALICE.key,
        sequence=7,
        listed=False,
        writers=(BOB.key,),
    ),
}
REFUSED = {
    "a DOCTYPE": ("<entry ", "<!DOCTYPE entry><entry "),
    "an XML declaration in another encoding": ("<entry ", '<?xml version="1.0" encoding="utf-16"?><entry '),
    "a processing instruction": ("<title>", "<?x?><title>"),
    "a time with an offset": ("20.123Z", "20.123+00:00"),
    "a time without milliseconds": ("20.123Z", "20Z"),
    "no feed": (f"<p:feed>{OPEN}</p:feed>", ""),
    "two titles": ("<title>", "<title>a</title><title>"),
    "a key in capitals": (ALICE.key, ALICE.key.upper()),
    "an unknown element of Atom": ("</entry>", "<modified/></entry>"),
    "an id that is not absolute": (PLAIN.id, "entry-1"),
    "an attribute of unknown type": ("</entry>", '<p:attribute name="a" type="date">1</p:attribute></entry>'),
    "an attribute twice": ("</entry>", '<p:attribute name="a" type="string"/>' * 2 + "</entry>"),
}


TYPES: dict[type, str] = {str: "string", int: "integer", float: "decimal", bool: "boolean", Time: "time"}


def plain(value: object) -> object:
    """A value in terms of JSON. A text is an object; an attribute says its type."""
    if isinstance(value, Text):
        return {"text": str(value), "type": value.type, "language": value.language, "base": value.base}
    if is_dataclass(value):
        named = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        # Younger than the first vectors, which say nothing of it.
        if isinstance(value, Person | Category | Link | Generator) and value.language is None:
            del named["language"]
        return named
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if hasattr(value, "items"):
        return {name: {"type": TYPES[type(each)], "value": each} for name, each in sorted(value.items())}
    return value


def vector(name: str, value: Entry | Feed, signed: Signed) -> dict[str, object]:
    return {
        "name": name,
        "data": signed.data.decode("utf-8"),
        "author": signed.author,
        "signature": signed.signature.hex(),
        "sha256": hashlib.sha256(signed.data).hexdigest(),
        "fields": plain(value),
    }


def all_vectors() -> dict[str, object]:
    secrets = {secret.key: secret for secret in (ALICE, BOB)}
    entries = dict(ENTRIES)
    for number, (name, content) in enumerate(OTHERS.items()):
        entry_id = EntryId(f"urn:uuid:0a0a0a0a-0000-4000-8000-00000000010{number}")
        entries[name] = Entry(
            entry_id, Text("Content"), 1_700_000_000_000, content=content, feed=OPEN, author=ALICE.key
        )
    entries["languages of single elements"] = LANGUAGES
    base = write_entry(PLAIN).decode("utf-8")
    return {
        "secrets": {key: secret.to_bytes().hex() for key, secret in secrets.items()},
        "entries": [
            vector(name, entry, secrets[entry.key.author].sign_entry(write_entry(entry)))
            for name, entry in entries.items()
        ],
        "descriptors": [
            vector(name, feed, ALICE.sign_descriptor(write_descriptor(feed))) for name, feed in FEEDS.items()
        ],
        "refused_entries": [
            {"name": name, "data": base.replace(old, new, 1)} for name, (old, new) in REFUSED.items()
        ],
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(all_vectors(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
