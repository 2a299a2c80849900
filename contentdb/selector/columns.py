"""The terms of all rows as columns of coarse numbers, so that numpy proposes the few that may match.

A row has up to four terms ``low <= view <= high``. A view is an attribute as a number, or an attribute's text
as a number drawn from its hash. Single precision rounds and hashes collide, so a column may propose a row
that does not match, which costs a moment; it never hides one that does, because rounding keeps the order of
closed bounds.
"""

from array import array
from importlib.util import find_spec
from math import inf, nan
from struct import Struct
from typing import TYPE_CHECKING, Any, TypeAlias

from contentdb.selector.attribute import Attribute
from contentdb.selector.terms import Terms, each_term

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Bounds: TypeAlias = NDArray[numpy.float32]
    Arrays: TypeAlias = tuple[NDArray[numpy.int32], Bounds, Bounds, Bounds]

HAVE_NUMPY = find_spec("numpy") is not None
# Rows with more terms are rare, and what is left over is checked anyway.
MAX_TERMS = 4
# Four comparisons that all hold, seen as one integer: much faster than asking numpy whether all hold.
_ALL_HOLD = 0x01010101
# All of these are different in single precision.
_CODE_BITS = 2**24 - 1
# View 0 is always 0: the place of terms that a row does not have.
_NO_VIEWS, _NO_LOWS, _NO_HIGHS = [0] * MAX_TERMS, [-inf] * MAX_TERMS, [inf] * MAX_TERMS
_ROW_BYTES = Struct("4i").size
_pack_integers, _pack_floats = Struct("4i").pack_into, Struct("4f").pack_into
# Room is made for a quarter more rows, and at least these.
_MORE_ROWS = 1_024


def code(word: str | bool) -> float:
    # The hash differs from run to run. It only proposes; what is proposed is always checked.
    return float(hash(word) & _CODE_BITS)


class Columns:
    """The columns of rows whose terms name these attributes, and the views of the entry just matched."""

    def __init__(self, attributes: dict[str, Attribute]) -> None:
        import numpy  # only who has this many selectors pays for loading it

        self._numpy = numpy
        self._attributes = attributes
        self._views, self._lows, self._highs = bytearray(), bytearray(), bytearray()
        # Nothing compares with NaN, so what an entry does not have never fits.
        self._values = array("f", [0.0, nan])
        self._arrays: Arrays | None = None
        self._free_views: list[int] = []
        for attribute in attributes.values():
            self.open_views(attribute)

    def open_views(self, attribute: Attribute) -> None:
        """Give it a view as a number; the view as a word is the next."""
        if self._free_views:
            attribute.view = self._free_views.pop()
        else:
            attribute.view = len(self._values)
            self._arrays = None  # an array that numpy looks at cannot grow
            self._values.extend((nan, nan))

    def close_views(self, attribute: Attribute) -> None:
        """No row may mention it any more, because another will get its views."""
        self._free_views.append(attribute.view)

    def put(self, row: int, terms: Terms) -> None:
        """Rows are numbered from 0 without gaps; a number may be given again."""
        attributes = self._attributes
        views: list[int] = []
        lows: list[float] = []
        highs: list[float] = []
        for name, low, high in each_term(terms):
            if high.__class__ is not str:
                views.append(attributes[name].view)
                lows.append(low)
                highs.append(high)
            elif high == "=":
                views.append(attributes[name].view + 1)
                word = hash(low) & _CODE_BITS  # code(low), but for a call that takes too long
                lows.append(word)
                highs.append(word)
        missing = MAX_TERMS - len(views)
        if missing > 0:
            views += _NO_VIEWS[:missing]
            lows += _NO_LOWS[:missing]
            highs += _NO_HIGHS[:missing]
        elif missing < 0:
            del views[MAX_TERMS:], lows[MAX_TERMS:], highs[MAX_TERMS:]
        at = row * _ROW_BYTES
        if at >= len(self._views):
            self._grow()
        _pack_integers(self._views, at, *views)
        try:
            _pack_floats(self._lows, at, *lows)
            _pack_floats(self._highs, at, *highs)
        except OverflowError:  # array() rounds to infinity what single precision cannot hold
            _pack_floats(self._lows, at, *array("f", lows))
            _pack_floats(self._highs, at, *array("f", highs))

    def _grow(self) -> None:
        self._arrays = None
        more = bytes(_ROW_BYTES * (_MORE_ROWS + len(self._views) // _ROW_BYTES // 4))
        for column in (self._views, self._lows, self._highs):
            column += more

    def candidates(self, rows: bytes, seen: list[tuple[int, Any]]) -> list[int]:
        """Those of these rows, 32-bit integers, that may match an entry whose views have these values."""
        numpy = self._numpy
        if self._arrays is None:
            self._arrays = self._as_arrays()
        views, lows, highs, values = self._arrays
        for view, value in seen:
            self._values[view] = value
        some = numpy.frombuffer(rows, dtype=numpy.int32).astype(numpy.intp)
        value_of = values.take(views.take(some, axis=0))
        fits = lows.take(some, axis=0) <= value_of
        fits &= value_of <= highs.take(some, axis=0)
        proposed: list[int] = some[fits.view(numpy.int32).ravel() == _ALL_HOLD].tolist()
        for view, _ in seen:
            self._values[view] = nan
        return proposed

    def _as_arrays(self) -> "Arrays":
        numpy = self._numpy
        return (
            numpy.frombuffer(self._views, dtype=numpy.int32).reshape(-1, MAX_TERMS),
            numpy.frombuffer(self._lows, dtype=numpy.float32).reshape(-1, MAX_TERMS),
            numpy.frombuffer(self._highs, dtype=numpy.float32).reshape(-1, MAX_TERMS),
            numpy.frombuffer(self._values, dtype=numpy.float32),
        )
