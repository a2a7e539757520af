"""What the virtual GPU computes exactly, approximately or not at all of a bundle's code object.

In: a local bundle. Out: a Fidelity, from `kerncap-isa code`. Called by `kerncap inspect --fidelity`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kerncap import native, proc
from kerncap.bundle import Bundle
from kerncap.bundle.content import write_code_object
from kerncap.errors import BundleError
from kerncap.scratch import Scratch

_TIMEOUT_S = 120


@dataclass(frozen=True)
class Counted:
    """One mnemonic. `bound` is text for an approximate one, `reason` says why an unsupported one is."""

    name: str
    count: int
    bound: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Function:
    """One function of the code object; `kernel` when it can be dispatched."""

    name: str
    kernel: bool
    exact: int
    approximate: tuple[Counted, ...]
    unsupported: tuple[Counted, ...]


@dataclass(frozen=True)
class Fidelity:
    """`functions` is empty when the virtual GPU does not know the target at all."""

    target: str
    known_target: bool
    functions: tuple[Function, ...]

    def to_json(self) -> dict[str, Any]:
        def counted(entries: tuple[Counted, ...]) -> list[dict[str, Any]]:
            return [{k: v for k, v in asdict(entry).items() if v is not None} for entry in entries]

        return {
            "target": self.target,
            "known_target": self.known_target,
            "functions": [
                {
                    "name": f.name,
                    "kernel": f.kernel,
                    "exact": f.exact,
                    "approximate": counted(f.approximate),
                    "unsupported": counted(f.unsupported),
                }
                for f in self.functions
            ],
        }


def bound_text(bound: dict[str, Any]) -> str:
    """`1 ulp`, `absolute 3.8e-06`, `33 * 2^-24 of the terms' magnitudes`."""
    kind, value = bound["kind"], float(bound["value"])
    if kind == "ulp":
        return f"{value:g} ulp"
    if kind == "absolute":
        return f"absolute {value:.2g}"
    return f"{value:g} * 2^-24 of the terms' magnitudes"


def fidelity_of(bundle: Bundle) -> Fidelity:
    """Raises: HostError `host.no-native-files`; UsageError; BundleError."""
    tool = native.find_native().isa
    with Scratch("kerncap-fidelity-") as scratch:
        file = write_code_object(bundle, Path(scratch) / "code.hsaco")
        done = proc.run([tool, "code", file], timeout_s=_TIMEOUT_S, keep_bytes=64 << 20)
    if not done.ok:
        raise BundleError(
            f"{bundle.name}: the code object cannot be read: {done.error_text.strip()[-300:]}",
            code="bundle.malformed",
        )
    return parse(json.loads(done.stdout))


def parse(document: dict[str, Any]) -> Fidelity:
    """A `kerncap.isa-code/1` document."""
    return Fidelity(
        document["target"],
        document["known_target"],
        tuple(
            Function(
                f["name"],
                f["kernel"],
                f["exact"],
                tuple(Counted(a["name"], a["count"], bound=bound_text(a["bound"])) for a in f["approximate"]),
                tuple(Counted(u["name"], u["count"], reason=u["reason"]) for u in f["unsupported"]),
            )
            for f in document["functions"]
        ),
    )
