"""What the rows of an entry say of its attributes."""

import json

from hypothesis import given
from hypothesis import strategies as st

from contentdb.atom import read_signed_entry
from contentdb.rows import encode_attributes
from tests.contentdb.test_atom_plain import PLAIN, written


@given(PLAIN.map(written))
def test_attributes_are_encoded_as_the_standard_encoder_does(data: bytes | None) -> None:
    if data is not None:
        attributes = read_signed_entry(data).attributes
        expected = json.dumps(dict(attributes), ensure_ascii=False, separators=(",", ":"))
        assert encode_attributes(attributes) == expected


@given(st.text())
def test_a_string_survives_with_every_character(text: str) -> None:
    assert json.loads(encode_attributes({"ünï": text})) == {"ünï": text}
