"""Signs bundles and attaches statements about them; looks at what is attached; refuses what nobody trusted has signed.

In: a bundle wherever it lies, keys. Out: referrers beside the bundle, in its layout or its registry; or the digest that
a trusted key vouches for. Called by the commands sign, attest, sbom, verify, inspect, push, pull, replay and run.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kerncap import proc
from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import LayoutLocation, RegistryLocation, ReproducerLocation, TarLocation, parse_source
from kerncap.bundle.manifest import OCI_MANIFEST, Descriptor, sha256_digest
from kerncap.bundle.progress import ProgressCall, no_progress
from kerncap.bundle.referrers import Referrer, build_referrer, no_referrers
from kerncap.bundle.store import LayoutStore, LocalStore
from kerncap.bundle.verify import verify
from kerncap.errors import HostError, TrustError, UsageError, typed
from kerncap.reproducer.directory import tool_version
from kerncap.results import Verdict
from kerncap.scratch import Scratch
from kerncap.transport import open_place, referrers_in, referrers_of
from kerncap.trust import kinds
from kerncap.trust.envelope import DSSE, IN_TOTO, build_statement, sign
from kerncap.trust.examine import predicate_of_signature, require_signature
from kerncap.trust.keys import PrivateKey, PublicKey, load_public_keys
from kerncap.trust.provenance import predicate_of_provenance
from kerncap.trust.sbom import document_of_sbom, to_bytes
from kerncap.trust.verdicts import RuntimeImage, predicate_of_verdict

SIGNERS = ("cosign", "notation")


def attach_signature(bundle: Bundle, key: PrivateKey) -> Referrer:
    """Sign the bundle's manifest digest.

    Raises: UsageError `usage.not-sealed`, `usage.no-referrers`; HostError; TransportError.
    """
    predicate = predicate_of_signature()
    return _attach_statement(bundle, kinds.SIGNATURE_PREDICATE, predicate, key, "signature", kinds.SIGNATURE_ARTIFACT)


def attach_provenance(bundle: Bundle, key: PrivateKey | None) -> Referrer:
    """Where the bundle comes from. Raises: as attach_signature."""
    _require_sealed(bundle)
    return _attach_statement(bundle, kinds.PROVENANCE_PREDICATE, predicate_of_provenance(bundle), key, "provenance")


def attach_verdict(bundle: Bundle, verdict: Verdict, image: RuntimeImage | None, key: PrivateKey | None) -> Referrer:
    """What the bundle came to. Raises: UsageError `usage.other-bundle`; as attach_signature."""
    _require_sealed(bundle)
    predicate = predicate_of_verdict(bundle, verdict, image, tool_version())
    return _attach_statement(bundle, kinds.VERDICT_PREDICATE, predicate, key, "verdict")


def sbom_of(bundle: Bundle) -> bytes:
    """The bill of materials.

    Raises: HostError `host.no-license-expression`; UsageError; BundleError; TransportError.
    """
    _require_sealed(bundle)
    with Scratch("kerncap-sbom-") as scratch:
        files = bundle.extract_source(Path(scratch))
        return to_bytes(document_of_sbom(bundle, Path(scratch), files, tool_version()))


def attach_sbom(bundle: Bundle, document: bytes) -> Referrer:
    """Raises: as attach_signature."""
    raw, blobs = build_referrer(subject_of(bundle), kinds.SPDX, kinds.SPDX, document, title="sbom.spdx.json")
    return referrers_of(bundle).attach(raw, blobs)


def runtime_image(name: str) -> RuntimeImage:
    """What the engine has under this name now. Raises: HostError `host.no-docker`, `host.no-image`, `host.docker`."""
    from kerncap.runtime.containers import image_digests

    return RuntimeImage(name, *image_digests(name))


def require_same_image(image: RuntimeImage) -> None:
    """Nobody built another image under its name meanwhile. Raises: HostError `host.image-changed`."""
    if runtime_image(image.name).image_id != image.image_id:
        raise HostError(
            f"{image.name} is another image than before: nothing is attested",
            code="host.image-changed",
            hint=typed("kerncap", "run", "BUNDLE", "--attest"),
        )


def require_attachable(bundle: Bundle) -> None:
    """Before work is done whose result is to be attached.

    Raises: UsageError `usage.not-sealed`, `usage.no-referrers`.
    """
    subject_of(bundle)
    store = bundle.store
    if isinstance(store, LocalStore) and not isinstance(store, LayoutStore):
        raise no_referrers(store.name)


def trusted_source(
    source: str, keys: Sequence[PublicKey], *, plain_http: bool
) -> tuple[str, str, tuple[PublicKey, ...]]:
    """The bundle at `source`, of which nothing but the manifest's bytes was looked at, is signed by one of the keys.

    Gives how to name it from now on (pinned), the digest, and who signed it.
    Raises: TrustError; UsageError `usage.not-sealed`; BundleError; TransportError.
    """
    location = parse_source(source)
    if isinstance(location, ReproducerLocation):
        raise UsageError(
            f"{location} is a reproducer: nobody can sign it, for everybody may change it",
            code="usage.not-sealed",
            hint=typed("kerncap", "pack", location.path, "-o", "OUT"),
        )
    store = open_place(location, plain_http=plain_http)
    digest = sha256_digest(store.manifest_bytes())
    try:
        by = require_signature(referrers_in(store), digest, keys)
    except TrustError as error:
        if error.code == "trust.unsigned" and isinstance(location, TarLocation):
            # Its signature cannot be in there: the person needs the place where it is.
            error.message += "; a tar file carries none, a layout or a registry does"
            error.hint = typed("kerncap", "verify", "REF", *(word for key in keys for word in ("--key", key.name)))
        raise
    return pinned(source, digest), digest, by


def pinned(source: str, digest: str) -> str:
    """With the digest in it, so that a tag which moves changes nothing; a tar file has one bundle and is as it is."""
    location = parse_source(source)
    if isinstance(location, LayoutLocation):
        return str(replace(location, digest=digest))
    if not isinstance(location, RegistryLocation):
        return source
    return f"{location.reference.partition('@')[0]}@{digest}"


def check_same(bundle: Bundle, digest: str) -> None:
    """The bundle that was opened is the one whose signature was checked. Raises: TrustError `trust.changed`."""
    if bundle.manifest_digest != digest:
        raise TrustError(
            f"{bundle.name}: {digest} was checked, and now it is {bundle.manifest_digest}", code="trust.changed"
        )


def require_whole(source: str, digest: str, progress: ProgressCall) -> None:
    """A bundle on this machine is the one whose signature was checked, in every byte.

    A replay reads chunks where they lie and checks them against damage, not against somebody who changes them.
    Raises: TrustError `trust.changed`; BundleError `bundle.digest-mismatch`, ...
    """
    if isinstance(parse_source(source), RegistryLocation):
        return
    bundle = open_bundle(source)
    check_same(bundle, digest)
    problems = verify(bundle, progress=progress).problems
    if problems:
        raise problems[0]


def require_trusted(source: str, keys: Sequence[Path]) -> str:
    """How to name a bundle on this machine from now on: signed by one of the keys, and whole.

    Raises: as trusted_source and require_whole.
    """
    named, digest, _ = trusted_source(source, load_public_keys(keys), plain_http=False)
    require_whole(named, digest, no_progress)
    return named


def sign_with(
    program: str, source: str, *, key: str | None, plain_http: bool, words: Sequence[str], say: proc.Sink
) -> str:
    """Have cosign or notation sign REPOSITORY@DIGEST; `words` are further ones for it. Gives what was signed.

    `say` gets what the program writes, on either stream: it is for the person, and no result of ours.
    A tag is never handed on: it could be moved between our look and the signature.
    Raises: UsageError `usage.signer`; HostError `host.no-signer`, `host.signer`; TransportError.
    """
    from kerncap.transport.reference import parse_reference

    if program not in SIGNERS:
        raise UsageError(f"--with is {program[:40]!r}", code="usage.signer", hint=f"--with {' | '.join(SIGNERS)}")
    location = parse_source(source)
    if not isinstance(location, RegistryLocation):
        raise UsageError(
            f"{program} signs what is in a registry, {source} is not",
            code="usage.signer",
            hint=typed("kerncap", "push", source, "REF"),
        )
    if shutil.which(program) is None:
        raise HostError(
            f"{program} is not installed, or not on PATH",
            code="host.no-signer",
            hint=typed("kerncap", "sign", source, "--key", "PRIVATE.pem"),
        )
    reference = parse_reference(location.reference)
    digest = sha256_digest(open_place(location, plain_http=plain_http).manifest_bytes())
    named = f"{reference.name}@{digest}"
    http = plain_http or reference.loopback
    argv = [program, "sign", *(("--key", key) if key is not None else ()), *_options(program, http), *words, named]
    done = proc.run(argv, timeout_s=None, inherit_stdin=True, on_stdout=say, on_stderr=say)
    if not done.ok:
        raise HostError(f"{program} failed with {done.returncode}", code="host.signer", hint=typed(*argv))
    return named


def _options(program: str, http: bool) -> list[str]:
    """Source: `cosign sign --help` (2.x), `notation sign --help` (1.x)."""
    if program == "cosign":
        return ["--yes", *(["--allow-http-registry"] if http else [])]
    return ["--insecure-registry"] if http else []


def subject_of(bundle: Bundle) -> Descriptor:
    """The manifest that everything here is about. Raises: UsageError `usage.not-sealed`."""
    manifest = bundle.manifest
    if manifest is None:
        raise UsageError(
            f"{bundle.name} is a reproducer, not sealed: it has no digest that anything could refer to",
            code="usage.not-sealed",
            hint=typed("kerncap", "pack", bundle.name, "-o", "oci:DIR"),
        )
    return Descriptor(OCI_MANIFEST, manifest.digest, len(manifest.raw))


def _require_sealed(bundle: Bundle) -> None:
    subject_of(bundle)


def _attach_statement(
    bundle: Bundle,
    predicate_type: str,
    predicate: Mapping[str, Any],
    key: PrivateKey | None,
    title: str,
    artifact_type: str = IN_TOTO,
) -> Referrer:
    subject = subject_of(bundle)
    statement = build_statement(subject.digest, predicate_type, predicate)
    raw, blobs = build_referrer(
        subject,
        artifact_type,
        IN_TOTO if key is None else DSSE,
        statement if key is None else sign(statement, key),
        title=f"{title}.json" if key is None else f"{title}.dsse.json",
        annotations={kinds.PREDICATE_ANNOTATION: predicate_type},
    )
    return referrers_of(bundle).attach(raw, blobs)
