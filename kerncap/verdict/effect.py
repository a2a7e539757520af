"""Whether perturbed inputs made a difference to what a kernel writes: if not, the run cannot tell who knows the answer.

In: the dump of the captured code object's run from the perturbed state, the captured memory. Out: yes or no.
Called by the replay workflow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from kerncap.bundle.capture import Capture
from kerncap.errors import ReplayError
from kerncap.verdict.infer import ReadBefore
from kerncap.verdict.ranges import intersect, normalise, subtract
from kerncap.verdict.types import TypedRange

# A difference is found in the first pieces, if there is one at all.
_MAX_PIECES = 256
_PIECE_BYTES = 1 << 20


def makes_a_difference(
    capture: Capture, dump: Path, perturbed: Iterable[TypedRange], read_before: ReadBefore, read_after: ReadBefore
) -> bool:
    """Whether a byte that the kernel writes came out otherwise than in the application.

    True as well when nobody knows what it writes. Raises: ReplayError `replay.bad-result`.
    """
    if capture.write_set is None:
        return True
    written = normalise(capture.write_set.written)
    try:
        changes = json.loads((dump / "changed.json").read_text("utf-8"))["ranges"]
        places = {(region, offset): at for region, offset, _, at in changes}
        changed = tuple((region, offset, length) for region, offset, length, _ in changes)
        with (dump / "changed.bin").open("rb") as content:
            for region, offset, length in changed[:_MAX_PIECES]:
                for _, at, size in intersect(((region, offset, min(length, _PIECE_BYTES)),), written):
                    content.seek(places[region, offset] + at - offset)
                    if content.read(size) != read_after(region, at, size):
                        return True
    except (OSError, ValueError, KeyError) as error:
        raise ReplayError(f"the dump cannot be read: {error}", code="replay.bad-result") from error
    kept = subtract(written, normalise(changed))
    if intersect(kept, normalise(one[:3] for one in perturbed)):
        return True
    pieces = [(region, offset, min(length, _PIECE_BYTES)) for region, offset, length in kept[:_MAX_PIECES]]
    return any(read_before(*piece) != read_after(*piece) for piece in pieces)
