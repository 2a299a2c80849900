"""Atom (RFC 4287) in and out: the names other parts use."""

from contentdb.atom_constructs import AtomError as AtomError
from contentdb.atom_export import ENCLOSURE_PREFIX as ENCLOSURE_PREFIX
from contentdb.atom_export import enclosure_urn as enclosure_urn
from contentdb.atom_export import signed_of as signed_of
from contentdb.atom_export import without_ours as without_ours
from contentdb.atom_export import write_feed as write_feed
from contentdb.atom_parse import parse_entry as parse_entry
from contentdb.atom_parse import parse_feed as parse_feed
from contentdb.atom_read import read_signed_descriptor as read_signed_descriptor
from contentdb.atom_read import read_signed_entry as read_signed_entry
from contentdb.atom_write import write_and_read_entry as write_and_read_entry
from contentdb.atom_write import write_descriptor as write_descriptor
from contentdb.atom_write import write_entry as write_entry
