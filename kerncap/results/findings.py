"""What the checked mode of the virtual GPU found, as types and JSON (docs/checks.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Site:
    """An instruction at work, one side of a finding; `source` is file:line when the code object has line tables."""

    pc: int
    text: str
    workgroup: tuple[int, int, int]
    wave: int
    lane: int | None
    source: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "pc": self.pc,
            "text": self.text,
            "source": self.source,
            "workgroup": list(self.workgroup),
            "wave": self.wave,
            "lane": self.lane,
        }


@dataclass(frozen=True)
class Finding:
    """What a check found at one pair of instructions, `count` times; `region` is (index, offset) of the capture."""

    check: str
    kind: str
    benign: bool
    count: int
    message: str
    site: Site
    other: Site | None
    space: str
    address: int | None
    size_bytes: int
    region: tuple[int, int] | None = None
    argument: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "kind": self.kind,
            "benign": self.benign,
            "count": self.count,
            "message": self.message,
            "site": self.site.to_json(),
            "other": self.other.to_json() if self.other else None,
            "space": self.space,
            "address": self.address,
            "size_bytes": self.size_bytes,
            "region": list(self.region) if self.region else None,
            "argument": self.argument,
        }


@dataclass(frozen=True)
class CheckResult:
    """What `--check` found in one dispatch from the captured state; `limits` says what was not looked at."""

    checks: tuple[str, ...]
    findings: tuple[Finding, ...]
    limits: tuple[str, ...]
    instructions: int

    @property
    def clean(self) -> bool:
        return all(finding.benign for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {
            "checks": list(self.checks),
            "clean": self.clean,
            "findings": [finding.to_json() for finding in self.findings],
            "limits": list(self.limits),
            "instructions": self.instructions,
        }


def _site(document: Mapping[str, Any]) -> Site:
    x, y, z = document["workgroup"]
    lane = document["lane"]
    return Site(
        pc=int(document["pc"]),
        text=str(document["text"]),
        workgroup=(int(x), int(y), int(z)),
        wave=int(document["wave"]),
        lane=None if lane is None else int(lane),
        source=document.get("source"),
    )


def parse_finding(document: Mapping[str, Any]) -> Finding:
    """A finding of a check report or of a verdict. Raises: KeyError, TypeError, ValueError."""
    region = document.get("region")
    return Finding(
        check=str(document["check"]),
        kind=str(document["kind"]),
        benign=document["benign"] is True,
        count=int(document["count"]),
        message=str(document["message"]),
        site=_site(document["site"]),
        other=_site(document["other"]) if document["other"] else None,
        space=str(document["space"]),
        address=None if document["address"] is None else int(document["address"]),
        size_bytes=int(document["size_bytes"]),
        region=(int(region[0]), int(region[1])) if region else None,
        argument=document.get("argument"),
    )


def parse_checked(document: Mapping[str, Any] | None) -> CheckResult | None:
    if document is None:
        return None
    return CheckResult(
        checks=tuple(map(str, document["checks"])),
        findings=tuple(parse_finding(finding) for finding in document["findings"]),
        limits=tuple(map(str, document["limits"])),
        instructions=int(document["instructions"]),
    )
