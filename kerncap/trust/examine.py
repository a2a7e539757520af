"""What refers to a bundle, examined: of what kind, signed by whom, and whether the signature holds.

In: a place with referrers, a manifest's digest, the keys that a person trusts. Out: one Examined for each referrer; or
the keys that vouch for the bundle, or a TrustError that says why none does. Called by the trust workflow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kerncap.bundle import limits
from kerncap.bundle.manifest import ARTIFACT_TYPE
from kerncap.bundle.referrers import Attached, Referrer, ReferrerSource, open_attached, too_much
from kerncap.errors import BundleError, KerncapError, TransportError, TrustError, counted, typed
from kerncap.trust import kinds
from kerncap.trust.envelope import DSSE, IN_TOTO, Envelope, Statement, parse_envelope, parse_statement, signers
from kerncap.trust.keys import PublicKey
from kerncap.trust.verdicts import check_predicate

_PREDICATE = {"artifactType": ARTIFACT_TYPE}
_SAYING_MOST = ("trust.wrong-subject", "trust.wrong-statement", "trust.bad-signature", "trust.malformed")
"""Of several signatures none of which holds: why, what points to an attack or damage first."""


@dataclass(frozen=True, slots=True)
class Examined:
    """`claims`: key ids that its signatures name, unchecked. `signed_by`: the trusted keys that did sign it.

    `holds`: None where it was not looked at or there were no keys; `problem`: why it does not hold, or is not readable.
    """

    referrer: Referrer
    kind: str
    statement: Statement | None = None
    claims: tuple[str, ...] = ()
    signed_by: tuple[PublicKey, ...] = ()
    holds: bool | None = None
    problem: KerncapError | None = None
    looked_at: bool = True

    def to_json(self) -> dict[str, Any]:
        """An entry of `referrers` in `kerncap.inspected/1`."""
        return {
            "kind": self.kind,
            "artifact_type": self.referrer.artifact_type,
            "digest": self.referrer.digest,
            "predicate_type": None if self.statement is None else self.statement.predicate_type,
            "predicate": None if self.statement is None or self.kind == kinds.SIGNATURE else self.statement.predicate,
            "claims": list(self.claims),
            "signed_by": [key.key_id for key in self.signed_by],
            "holds": self.holds,
            "problem": None if self.problem is None else self.problem.to_json(),
            "looked_at": self.looked_at,
        }


def predicate_of_signature() -> Mapping[str, Any]:
    """What a signature of a bundle says beside its digest: that it is a bundle."""
    return _PREDICATE


def examine_all(
    source: ReferrerSource, digest: str, keys: Sequence[PublicKey], *, most_bytes: int | None = None
) -> list[Examined]:
    """Everything that refers to the manifest, in the order of the place.

    Manifests and envelopes are fetched until `most_bytes` are; what is beyond is listed only (`looked_at`).
    Raises: TransportError, BundleError when the list itself cannot be had.
    """
    left = limits.MAX_REFERRERS * limits.MAX_ENVELOPE_BYTES if most_bytes is None else most_bytes
    found = []
    for referrer in source.referring_to(digest):
        left -= referrer.size
        one = _listed(referrer) if left < 0 else None
        if one is None:
            one, taken = _examine(source, referrer, digest, keys, left)
            left -= taken
        found.append(one)
    return found


def require_signature(source: ReferrerSource, digest: str, keys: Sequence[PublicKey]) -> tuple[PublicKey, ...]:
    """The keys that signed this very manifest as a bundle: at least one.

    Raises: TrustError `trust.unsigned`, `trust.unknown-key`, `trust.bad-signature`, `trust.wrong-subject`,
    `trust.wrong-statement`, `trust.malformed`; BundleError `bundle.limit` when none was found in as much as is read;
    TransportError.
    """
    problems: list[KerncapError] = []
    claims: list[str] = []
    left, passed_over = limits.MAX_REFERRERS_READ_BYTES, False
    for referrer in source.referring_to(digest):
        if referrer.artifact_type not in ("", kinds.SIGNATURE_ARTIFACT):
            continue
        if referrer.size > left:
            passed_over = True
            continue
        left -= referrer.size
        one, taken = _examine(source, referrer, digest, keys, left)
        left -= taken
        passed_over = passed_over or not one.looked_at
        if one.kind == kinds.SIGNATURE and one.holds:
            return one.signed_by
        if one.kind == kinds.SIGNATURE or referrer.artifact_type:
            problems += [one.problem] if one.problem is not None else []
            claims += one.claims
    if passed_over:
        raise too_much(source.name)
    raise _why_not(source.name, digest, problems, claims, keys)


def _why_not(
    name: str, digest: str, problems: list[KerncapError], claims: list[str], keys: Sequence[PublicKey]
) -> TrustError:
    wanted = " or ".join(f"{key.key_id} ({key.name})" for key in keys)
    if not problems:
        return TrustError(
            f"{name}: nothing that refers to {digest} is a signature; one by {wanted} is wanted",
            code="trust.unsigned",
            hint=typed("kerncap", "sign", name, "--key", "PRIVATE.pem"),
        )
    for code in _SAYING_MOST:
        telling = next((problem for problem in problems if problem.code == code), None)
        if telling is not None:
            more = f" (of {counted(len(problems), 'signature')} none holds)" if len(problems) > 1 else ""
            return TrustError(telling.message + more, code=code)
    others = ", ".join(dict.fromkeys(claims[:4])) or "no key that it names"
    return TrustError(f"{name}: {digest} is signed by {others}, not by {wanted}", code="trust.unknown-key")


def _listed(referrer: Referrer) -> Examined:
    return Examined(referrer, _kind_by_type(referrer), looked_at=False)


def _kind_by_type(referrer: Referrer) -> str:
    """As far as the list says; an attestation's own predicate type counts, once it was read."""
    if referrer.artifact_type == kinds.SIGNATURE_ARTIFACT:
        return kinds.SIGNATURE
    if referrer.artifact_type == kinds.SPDX:
        return kinds.SBOM
    if referrer.artifact_type == IN_TOTO:
        predicate_type = referrer.annotations.get(kinds.PREDICATE_ANNOTATION, "")
        return kinds.KIND_OF_PREDICATE.get(predicate_type, kinds.ATTESTATION)
    return kinds.FOREIGN.get(referrer.artifact_type, kinds.OTHER)


def _examine(
    source: ReferrerSource, referrer: Referrer, digest: str, keys: Sequence[PublicKey], most_bytes: int
) -> tuple[Examined, int]:
    """With how many bytes of content were fetched. What is wrong with one is no reason not to look at the others."""
    taken = 0
    try:
        attached = open_attached(source, referrer, digest)
        referrer = attached.referrer
        layer = attached.layers[0] if len(attached.layers) == 1 else None
        if layer is None or layer.media_type not in (DSSE, IN_TOTO):
            problem = None
            if referrer.artifact_type == kinds.SIGNATURE_ARTIFACT:
                problem = _malformed(attached, f"a signature has one layer of type {DSSE}")
            return Examined(referrer, _kind_by_type(referrer), problem=problem, holds=False if problem else None), 0
        if layer.size > limits.MAX_ENVELOPE_BYTES:
            problem = _malformed(attached, f"{layer.size} bytes, at most {limits.MAX_ENVELOPE_BYTES} are allowed")
            return Examined(referrer, _kind_by_type(referrer), problem=problem, holds=False), 0
        if layer.size > most_bytes:
            return _listed(referrer), 0
        taken = layer.size
        raw = source.read(layer)
        what = f"{source.name}: referrer {referrer.digest}"
        if layer.media_type == IN_TOTO:
            statement = parse_statement(raw, what=what)
            return _unsigned(referrer, statement, digest, keys, what), taken
        return _signed(referrer, parse_envelope(raw, what=what), digest, keys, what), taken
    except BundleError as error:  # a TrustError is one
        return Examined(referrer, _kind_by_type(referrer), holds=False, problem=_as_trust(error)), taken
    except TransportError as error:
        if error.code != "transport.not-found":
            raise
        return Examined(referrer, _kind_by_type(referrer), holds=False, problem=error), taken


def _unsigned(referrer: Referrer, statement: Statement, digest: str, keys: Sequence[PublicKey], what: str) -> Examined:
    """Whoever can write to the place may have said it."""
    problem: TrustError | None = None
    if statement.predicate_type == kinds.VERDICT_PREDICATE:
        check_predicate(statement.predicate, what=what)
    if statement.subject != digest:
        problem = _wrong_subject(what, statement, digest)
    elif referrer.artifact_type == kinds.SIGNATURE_ARTIFACT:
        problem = TrustError(f"{what}: a signature without a signature", code="trust.malformed")
    elif keys:
        problem = TrustError(f"{what}: nobody signed it", code="trust.unsigned")
    return Examined(referrer, _kind(referrer, statement), statement, holds=False if problem else None, problem=problem)


def _signed(referrer: Referrer, envelope: Envelope, digest: str, keys: Sequence[PublicKey], what: str) -> Examined:
    claims = tuple(dict.fromkeys(key_id for key_id, _ in envelope.signatures if key_id))
    by = signers(envelope, keys)
    statement: Statement | None = None
    problem: TrustError | None = None
    try:
        if envelope.payload_type != IN_TOTO:
            text = f"{what}: the payload is {envelope.payload_type[:80]!r}, expected {IN_TOTO}"
            raise TrustError(text, code="trust.wrong-statement")
        statement = parse_statement(envelope.payload, what=what)
        _check_statement(referrer, statement, digest, what)
    except TrustError as error:
        problem = error
        # Nobody shows or uses what does not obey its schema.
        statement = None if error.code == "trust.malformed" else statement
    if keys and not by and (problem is None or problem.code in ("trust.wrong-subject", "trust.wrong-statement")):
        named = {key.key_id for key in keys} & set(claims)
        problem = (
            TrustError(f"{what}: it names the key {min(named)}, whose signature it is not", code="trust.bad-signature")
            if named
            else TrustError(f"{what}: none of the keys signed it", code="trust.unknown-key")
        )
    holds = None if not keys and problem is None else problem is None
    return Examined(referrer, _kind(referrer, statement), statement, claims, by, holds, problem)


def _check_statement(referrer: Referrer, statement: Statement, digest: str, what: str) -> None:
    """Raises: TrustError `trust.wrong-subject`, `trust.wrong-statement`."""
    if statement.subject != digest:
        raise _wrong_subject(what, statement, digest)
    if statement.predicate_type == kinds.VERDICT_PREDICATE:
        check_predicate(statement.predicate, what=what)
    is_signature = statement.predicate_type == kinds.SIGNATURE_PREDICATE
    if is_signature != (referrer.artifact_type == kinds.SIGNATURE_ARTIFACT):
        text = f"{what}: a statement of type {statement.predicate_type[:120]!r} in an artifact of another kind"
        raise TrustError(text, code="trust.wrong-statement")
    if is_signature and statement.predicate.get("artifactType") != ARTIFACT_TYPE:
        raise TrustError(f"{what}: it is not about a bundle", code="trust.wrong-statement")


def _kind(referrer: Referrer, statement: Statement | None) -> str:
    """An artifact that poses as a signature stays one, and does not hold."""
    by_type = _kind_by_type(referrer)
    if statement is None or by_type == kinds.SIGNATURE:
        return by_type
    return kinds.KIND_OF_PREDICATE.get(statement.predicate_type, kinds.ATTESTATION)


def _wrong_subject(what: str, statement: Statement, digest: str) -> TrustError:
    return TrustError(f"{what}: it is about {statement.subject}, not about {digest}", code="trust.wrong-subject")


def _malformed(attached: Attached, why: str) -> TrustError:
    return TrustError(f"referrer {attached.referrer.digest}: {why}", code="trust.malformed")


def _as_trust(error: BundleError) -> TrustError:
    return error if isinstance(error, TrustError) else TrustError(error.message, code="trust.malformed")
