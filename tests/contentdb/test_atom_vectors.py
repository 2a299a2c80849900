"""The vectors of docs/protocol/entry-v1.md: what a second implementation checks itself against."""

import json
from typing import Any

import pytest

from contentdb.atom import read_signed_descriptor, read_signed_entry, write_descriptor, write_entry
from contentdb.errors import RemoteError
from contentdb.identity import AuthorSecret, verify_descriptor, verify_entry
from contentdb.model import Signed
from contentdb.names import AuthorKey
from contentdb.xmlguard import Library
from tests.contentdb.atom_vectors import PATH, all_vectors, plain

VECTORS: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
both_libraries = pytest.mark.parametrize("library", ["lxml", "etree"])


def named(vectors: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", vectors, ids=[vector["name"] for vector in vectors])


def signed(vector: dict[str, Any]) -> Signed:
    return Signed(
        AuthorKey(vector["author"]), bytes.fromhex(vector["signature"]), vector["data"].encode("utf-8")
    )


@both_libraries
@named(VECTORS["entries"])
def test_an_entry_verifies_and_says_what_the_vector_says(vector: dict[str, Any], library: Library) -> None:
    verify_entry(signed(vector))
    entry = read_signed_entry(signed(vector).data, library=library)
    assert json.loads(json.dumps(plain(entry))) == vector["fields"]
    assert write_entry(entry) == signed(vector).data


@both_libraries
@named(VECTORS["descriptors"])
def test_a_descriptor_verifies_and_says_what_the_vector_says(
    vector: dict[str, Any], library: Library
) -> None:
    verify_descriptor(signed(vector))
    feed = read_signed_descriptor(signed(vector).data, library=library)
    assert json.loads(json.dumps(plain(feed))) == vector["fields"]
    assert write_descriptor(feed) == signed(vector).data


@named(VECTORS["entries"])
def test_an_entry_does_not_pass_for_a_descriptor(vector: dict[str, Any]) -> None:
    with pytest.raises(RemoteError):
        verify_descriptor(signed(vector))


@named(VECTORS["entries"])
def test_signing_again_gives_the_same_signature(vector: dict[str, Any]) -> None:
    secret = AuthorSecret.from_bytes(bytes.fromhex(VECTORS["secrets"][vector["author"]]))
    assert secret.sign_entry(signed(vector).data) == signed(vector)


@both_libraries
@named(VECTORS["refused_entries"])
def test_what_the_vectors_refuse_is_refused(vector: dict[str, Any], library: Library) -> None:
    with pytest.raises(RemoteError):
        read_signed_entry(vector["data"].encode("utf-8"), library=library)


def test_the_vectors_are_the_ones_that_are_made() -> None:
    assert json.loads(json.dumps(all_vectors())) == VECTORS
