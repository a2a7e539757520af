"""What refers to a bundle, for people and as JSON: of what kind, signed by whom, whether that holds.

In: an open Bundle, paths of public keys. Out: lines (not yet escaped) and members of `kerncap.inspected/1`.
Called by inspect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerncap.cli.output import table
from kerncap.errors import BundleError, KerncapError, TransportError

if TYPE_CHECKING:
    from kerncap.bundle import Bundle
    from kerncap.trust.examine import Examined

_MOST_FETCHED_BYTES = 96 << 10
"""Of what refers to a bundle in a registry: some forty signatures. inspect as a whole moves less than 1 MB."""
_MOST_READ_BYTES = 16 << 20


@dataclass(frozen=True)
class Referrers:
    """`problem`: why they could not be listed."""

    found: tuple[Examined, ...]
    problem: KerncapError | None

    def to_json(self) -> dict[str, Any]:
        """Members of `kerncap.inspected/1`."""
        if self.problem is not None:
            return {"referrers": None, "referrers_problem": self.problem.to_json()}
        return {"referrers": [one.to_json() for one in self.found]}

    def text(self) -> str:
        """Several lines; nothing when nothing refers to it."""
        if self.problem is not None:
            return f"what refers to it is not known: {self.problem.message} [{self.problem.code}]"
        if not self.found:
            return ""
        return "referrers\n" + table(self._rows(), header=("kind", "digest", "signed by", "what"), indent=2)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for one in self.found:
            yield one.kind, one.referrer.digest, _who(one), _what(one)


def find_referrers(bundle: Bundle, keys: Sequence[Path]) -> Referrers:
    """With keys, what keeps the list from being had is raised; without it is said, as the rest can still be shown.

    Raises: UsageError `usage.key`; with keys also TransportError, BundleError.
    """
    if bundle.manifest is None:
        return Referrers((), None)
    from kerncap.bundle.store import LocalStore
    from kerncap.transport import referrers_of
    from kerncap.trust.examine import examine_all
    from kerncap.trust.keys import load_public_keys

    trusted = load_public_keys(keys)
    most = _MOST_READ_BYTES if isinstance(bundle.store, LocalStore) else _MOST_FETCHED_BYTES
    try:
        found = examine_all(referrers_of(bundle), bundle.manifest.digest, trusted, most_bytes=most)
    except (TransportError, BundleError) as error:
        if keys:
            raise
        return Referrers((), error)
    return Referrers(tuple(found), None)


def _who(one: Examined) -> str:
    if one.holds and one.signed_by:
        return ", ".join(f"{key.key_id} ({key.name})" for key in one.signed_by)
    if one.problem is not None:
        return f"does not hold: {one.problem.code}"
    if not one.looked_at:
        return "not looked at: too much is attached"
    if one.claims:
        return f"says {', '.join(one.claims)}, unchecked (--key)"
    return "nobody" if one.statement is not None or one.kind == "sbom" else "-"


def _what(one: Examined) -> str:
    from kerncap.trust import kinds
    from kerncap.trust.verdicts import sentence

    if one.kind == kinds.VERDICT and one.statement is not None:
        return sentence(one.statement.predicate)
    if one.statement is not None and one.kind in (kinds.ATTESTATION, kinds.PROVENANCE):
        return one.statement.predicate_type
    return one.referrer.artifact_type if one.kind == kinds.OTHER else ""
