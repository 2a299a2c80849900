"""Writes the song of the demo: a few seconds of a tune, which any player and the dashboard can play."""

import math
import wave
from pathlib import Path

RATE = 8_000  # samples a second, of one byte each
NOTE_S = 0.25
# An own little tune, in half tones above the A below middle C.
TUNE = (3, 7, 10, 15, 10, 7, 12, 8, 5, 12, 10, 7, 3, 3)
LOUDNESS = 60  # of 127


def write_tune(path: Path) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(RATE)
        for half_tones in TUNE:
            file.writeframes(_note(220.0 * 2 ** (half_tones / 12)))
    return path


def _note(frequency: float) -> bytes:
    """A sine that fades out, so that one note does not crack into the next."""
    count = int(RATE * NOTE_S)
    return bytes(
        128 + round(LOUDNESS * (1 - n / count) * math.sin(math.tau * frequency * n / RATE))
        for n in range(count)
    )
