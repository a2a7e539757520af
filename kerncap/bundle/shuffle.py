"""The byte-shuffle filter of a chunk (bundle_spec/SPEC.md, 5): bytes of words sorted by their place in the word.

In: what a frame decompressed to. Out: the raw bytes. Called by content and verify; the native writer shuffles.
"""

from __future__ import annotations


def unshuffle(data: bytes | bytearray, width: int) -> bytes:
    """`data` holds the first bytes of all words of `width` bytes, then the second, ...; less than a word stays last."""
    if width == 1:
        return bytes(data)
    import numpy as np

    words = len(data) // width
    planes = np.frombuffer(data, np.uint8, words * width).reshape(width, words)
    return planes.T.tobytes() + bytes(data[words * width :])


def shuffle(data: bytes, width: int) -> bytes:
    """The way there, for whoever writes a chunk."""
    import numpy as np

    words = len(data) // width
    table = np.frombuffer(data, np.uint8, words * width).reshape(words, width)
    return table.T.tobytes() + data[words * width :]
