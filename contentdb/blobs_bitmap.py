"""Which of an enclosure's chunks: bit i - 1, lowest bit of a byte first, stands for chunk i."""

from contentdb.chunking import chunk_length
from contentdb.model import CHUNK_BYTES

_EXPANDED = [bytes(byte >> bit & 1 for bit in range(8)) for byte in range(256)]


def full_bitmap(count: int) -> bytearray:
    bitmap = bytearray(b"\xff") * (-(-count // 8))
    if count % 8:
        bitmap[-1] = (1 << count % 8) - 1
    return bitmap


def ranges_of(bitmap: bytes | bytearray, count: int, wanted: bool) -> list[range]:
    """Runs of chunks, numbered from 1, whose bit is set, or is not."""
    bits = b"".join([_EXPANDED[byte] for byte in bitmap])
    this, other = (b"\x01", b"\x00") if wanted else (b"\x00", b"\x01")
    runs, at = [], bits.find(this, 0, count)
    while at >= 0:
        end = bits.find(other, at, count)
        end = count if end < 0 else end
        runs.append(range(at + 1, end + 1))
        at = bits.find(this, end, count)
    return runs


def has_bit(bitmap: bytes | bytearray, index: int) -> bool:
    return bool(bitmap[index - 1 >> 3] >> (index - 1 & 7) & 1)


def clear_bit(bitmap: bytearray, index: int) -> None:
    bitmap[index - 1 >> 3] &= ~(1 << (index - 1 & 7))


def clear_from(bitmap: bytearray, index: int) -> None:
    """Clear the bit of this chunk and of all behind it."""
    whole = -(-(index - 1) // 8)
    bitmap[whole:] = bytes(len(bitmap) - whole) if whole < len(bitmap) else b""
    for late in range(index, min(whole, len(bitmap)) * 8 + 1):
        clear_bit(bitmap, late)


def set_run(bitmap: bytearray, first: int, last: int) -> None:
    for index in range(first, last + 1):
        bitmap[index - 1 >> 3] |= 1 << (index - 1 & 7)


def received_bytes(have: bytes | bytearray, count: int, length: int) -> int:
    if not count:
        return 0
    held, has_last = int.from_bytes(have, "little").bit_count(), has_bit(have, count)
    return (held - has_last) * CHUNK_BYTES + has_last * chunk_length(length, count)
