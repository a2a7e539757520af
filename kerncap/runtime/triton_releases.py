"""Which releases of Triton an image of a suite can have: the [triton] tables of images.toml.

In: such a table. Out: Triton, one release on one suite, or the reason why it does not run there. Runs nothing; part of
the catalog.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kerncap.errors import UsageError, typed


@dataclass(frozen=True)
class Refused:
    """Releases from `first` on, before `below` (None: and all later ones), do not run on this suite."""

    first: str
    below: str | None
    reason: str

    def has(self, release: str) -> bool:
        number = as_numbers(release)
        return as_numbers(self.first) <= number and (self.below is None or number < as_numbers(self.below))


@dataclass(frozen=True)
class Triton:
    """One release on one suite: a wheel for its Python, what a launch needs beside it, switches.

    `default` is the release of the image without a release in its tag; `known` are those that were seen to work there.
    """

    suite: str
    version: str
    default: str
    known: tuple[str, ...]
    refused: tuple[Refused, ...]
    python: str
    packages: tuple[str, ...]
    environment: dict[str, str]

    @property
    def tag(self) -> str:
        """`sid`, and `sid-3.8.0` for another than the default release."""
        return self.suite if self.version == self.default else f"{self.suite}-{self.version}"

    def why_not(self, release: str) -> str | None:
        """Why it does not run on this suite; None: it may."""
        return next((entry.reason for entry in self.refused if entry.has(release)), None)

    def of_release(self, release: str) -> Triton:
        """The same suite with another release, seen to work or not. Raises: UsageError `usage.triton-release`."""
        require_release(release)
        reason = self.why_not(release)
        if reason is not None:
            raise UsageError(
                f"Triton {release} does not run on {self.suite}: {reason}",
                code="usage.triton-release",
                hint=typed("kerncap", "image", "build", self.suite, "--triton", self.known[-1]),
            )
        return replace(self, version=release)


def of_entry(suite: str, entry: dict[str, Any]) -> Triton:
    """Of a table of images.toml. Raises: KeyError, TypeError."""
    refused = tuple(Refused(one["from"], one.get("below"), one["reason"]) for one in entry.get("refused", ()))
    default = entry["version"]
    return Triton(
        suite=suite,
        version=default,
        default=default,
        known=tuple(entry["known"]),
        refused=refused,
        python=entry["python"],
        packages=tuple(entry["packages"]),
        environment=dict(entry["environment"]),
    )


def suites_with(releases: Iterable[Triton], wanted: str) -> list[str]:
    """The suites on which a release is known to work. Raises: UsageError `usage.triton-release`."""
    require_release(wanted)
    listed = list(releases)
    suites = [one.suite for one in listed if wanted in one.known]
    if suites:
        return suites
    known = "; ".join(f"{one.suite}: {', '.join(one.known)}" for one in listed)
    reasons = "; ".join(f"{one.suite}: {reason}" for one in listed if (reason := one.why_not(wanted)))
    raise UsageError(
        f"Triton {wanted} is known to work on no suite" + (f" ({reasons})" if reasons else "") + f"; known: {known}",
        code="usage.triton-release",
        hint=f"kerncap image build {listed[-1].suite} --triton {listed[-1].known[-1]}",
    )


def require_release(release: str) -> None:
    """It goes into the names of an image and of a package. Raises: UsageError `usage.triton-release`."""
    if not re.fullmatch(r"\d{1,4}(\.\d{1,4}){2}", release):
        text = f"{release!r} is no release of Triton"
        raise UsageError(text, code="usage.triton-release", hint="kerncap image build --triton 3.8.0")


def as_numbers(release: str) -> tuple[int, ...]:
    """To compare releases: `3.10.0` is later than `3.9`."""
    return tuple(int(part) for part in re.findall(r"\d+", release)[:3])
