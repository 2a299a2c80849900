"""Mutated inputs for the frame and the channel decoder: a few thousand in CI, a million by hand.

    python -m tests.transport.fuzz 1000000 --seed 7

Whatever comes in, a decoder returns or raises RemoteError; anything else ends the run with the seed and the
number of the input, which repeat it.
"""

import argparse
import resource
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from contentdb.errors import RemoteError
from tests.transport.makers import ends, hostile_client, proved_ends, record, sent_in
from transport.channel import Channel
from transport.frame import MAX_LENGTH, RECORD_BYTES, FrameDecoder, FrameReceived, encode_frame

# Values that sit on a bound of the specification, in the two widths that lengths have.
EDGES = [
    0,
    1,
    2,
    3,
    16,
    17,
    32,
    64,
    96,
    8_192,
    8_193,
    RECORD_BYTES,
    65_535,
    MAX_LENGTH,
    MAX_LENGTH + 1,
    2**32 - 1,
]


@dataclass
class Report:
    inputs: int = 0
    refused: int = 0
    frames: int = 0
    grown_bytes: int = 0  # how much the process grew at its largest


def fuzz(count: int, seed: int) -> Report:
    """Try `count` inputs; the same seed tries the same ones."""
    report = Report()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        # Each input has its own generator, so that one can be repeated without those before it.
        try_input(Random(f"{seed}/{number}"), report, f"seed {seed}, input {number}")
    report.grown_bytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return report


def try_input(rng: Random, report: Report, name: str) -> None:
    decode = rng.choice((fuzz_frames, fuzz_frames, fuzz_peer, fuzz_records, fuzz_handshake))
    try:
        report.frames += decode(rng)
    except RemoteError:
        report.refused += 1
    except Exception as error:
        error.add_note(f"{decode.__name__} met this with {name}")
        raise
    report.inputs += 1


def fuzz_frames(rng: Random) -> int:
    """Plaintexts straight into the frame decoder."""
    decoder = FrameDecoder()
    return sum(decoder.record_received(piece) is not None for piece in wrong_pieces(rng))


def fuzz_peer(rng: Random) -> int:
    """A peer that proved its key and then encrypts what no honest one would."""
    cipher, server = hostile_client()
    pieces = [piece[:RECORD_BYTES] for piece in wrong_pieces(rng)]
    return feed(rng, server, b"".join(record(cipher.encrypt(piece)) for piece in pieces))


def fuzz_records(rng: Random) -> int:
    """Somebody on the way changes records of a session."""
    client, server = proved_ends()
    stream = b"".join(
        client.encode_frame(b"<h/>", rng.randbytes(body_length(rng))) for _ in range(rng.randint(1, 3))
    )
    return feed(rng, server, mutate(rng, stream))


def fuzz_handshake(rng: Random) -> int:
    """Wrong handshake messages to either end."""
    client, server = ends()
    first = client.start()
    if rng.random() < 0.3:
        return feed(rng, server, mutate(rng, first) + rng.randbytes(rng.randint(0, 70)))
    second = sent_in(server.bytes_received(first))
    if rng.random() < 0.5:
        return feed(rng, client, mutate(rng, second))
    return feed(rng, server, mutate(rng, sent_in(client.bytes_received(second))))


def feed(rng: Random, end: Channel, stream: bytes) -> int:
    frames = 0
    while stream:
        cut = rng.choice((1, 2, 3, 50, 4_096, len(stream)))
        frames += sum(isinstance(event, FrameReceived) for event in end.bytes_received(stream[:cut]))
        stream = stream[cut:]
    return frames


def wrong_pieces(rng: Random) -> list[bytes]:
    if rng.random() < 0.1:
        return [rng.randbytes(rng.randint(0, 100)) for _ in range(3)]
    pieces = [bytes(piece) for _ in range(2) for piece in encode_frame(b"<h/>", bytes(body_length(rng)))]
    at = rng.randrange(len(pieces))
    pieces[at] = mutate(rng, pieces[at])
    return pieces


def body_length(rng: Random) -> int:
    return rng.choice((0, 1, 20, 300)) if rng.random() < 0.97 else rng.choice((65_509, 65_510, 140_000))


def mutate(rng: Random, data: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(MUTATIONS)(rng, data)
    return data


def flip_a_bit(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) * 8) if data else 0
    return data[: at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1 :] if data else data


def cut_short(rng: Random, data: bytes) -> bytes:
    return data[: rng.randint(0, len(data))]


def cut_out(rng: Random, data: bytes) -> bytes:
    start = rng.randint(0, len(data))
    return data[:start] + data[start + rng.randint(1, 20) :]


def put_in(rng: Random, data: bytes) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.randbytes(rng.randint(1, 20)) + data[at:]


def repeat(rng: Random, data: bytes) -> bytes:
    start = rng.randint(0, len(data))
    end = rng.randint(start, min(len(data), start + 200))
    return data[:end] + data[start:]


def set_a_length(rng: Random, data: bytes) -> bytes:
    at, width = rng.choice(((0, 2), (0, 4), (4, 2))) if rng.random() < 0.8 else (rng.randint(0, len(data)), 2)
    value = rng.choice(EDGES) % (1 << 8 * width)
    return data[:at] + value.to_bytes(width, "big") + data[at + width :]


MUTATIONS: list[Callable[[Random, bytes], bytes]] = [
    flip_a_bit,
    cut_short,
    cut_out,
    put_in,
    repeat,
    set_a_length,
]


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("count", type=int)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    print(fuzz(given.count, given.seed))
