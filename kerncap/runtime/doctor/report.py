"""A check and a report of checks: what the doctor finds, and what follows from it.

In: nothing. Out: the types that every check gives. Called by every module of this package and by the command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kerncap.errors import HostError

State = Literal["ok", "warn", "fail"]


def size(count: int) -> str:
    """Bytes in words: `1.5 GiB`."""
    value, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}" if unit != "B" else f"{count} B"


@dataclass(frozen=True)
class Check:
    """One fact. `mend` can be typed; it is None where nothing is wrong."""

    name: str
    state: State
    detail: str
    mend: str | None = None

    def error(self) -> HostError:
        """The same as an error: what stops a replay says it in the doctor's words."""
        return HostError(f"{self.name}: {self.detail}", code=f"host.{self.name}", hint=self.mend)


@dataclass(frozen=True)
class Report:
    """All checks, and what follows from them: what works on this host.

    `of_bundle`: those that concern one bundle on one device; `bundle` and `device`: which, None without a bundle.
    """

    checks: tuple[Check, ...]
    of_bundle: tuple[Check, ...] = ()
    bundle: str | None = None
    device: str | None = None

    def state(self, name: str) -> State:
        return next(check.state for check in self.checks if check.name == name)

    @property
    def can(self) -> dict[str, bool]:
        """`hold`: pull, inspect, verify; `run`: in a container; `replay`: on this host itself; `capture` on it.

        With a bundle `run` and `replay` speak of that bundle.
        """
        here = self.state("hsa-runtime") == "ok" and self.state("native-files") == "ok"
        fits = all(check.state != "fail" for check in self.of_bundle)
        in_a_container = self.state("docker") == "ok" and self.state("images") != "fail"
        return {
            "hold": self.state("disk") != "fail",
            "run": in_a_container and fits,
            "replay": here and fits,
            "capture": here,
        }

    @property
    def works(self) -> bool:
        """Whether a bundle (the named one, or any) can be replayed on this host somehow."""
        return self.can["run"] or self.can["replay"]
