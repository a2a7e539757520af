"""What can refer to a bundle, by type. No code but names.

Called by the other modules of this package, the trust workflow and cli.
"""

from __future__ import annotations

SIGNATURE_ARTIFACT = "application/vnd.kerncap.signature.v1+json"
SPDX = "application/spdx+json"

SIGNATURE_PREDICATE = "https://kerncap.dev/attestation/bundle/v1"
PROVENANCE_PREDICATE = "https://slsa.dev/provenance/v1"
VERDICT_PREDICATE = "https://kerncap.dev/attestation/verdict/v1"
PREDICATE_ANNOTATION = "in-toto.io/predicate-type"

SIGNATURE, PROVENANCE, VERDICT, SBOM = "signature", "provenance", "verdict", "sbom"
ATTESTATION, OTHER = "attestation", "other"
"""An attestation of a type that Kerncap knows nothing of; any other artifact."""
KIND_OF_PREDICATE = {
    SIGNATURE_PREDICATE: SIGNATURE,
    PROVENANCE_PREDICATE: PROVENANCE,
    VERDICT_PREDICATE: VERDICT,
}
FOREIGN = {
    "application/vnd.dev.cosign.artifact.sig.v1+json": "cosign-signature",
    "application/vnd.dev.sigstore.bundle.v0.3+json": "sigstore-bundle",
    "application/vnd.cncf.notary.signature": "notation-signature",
}
"""Artifact types of other tools, which check them themselves."""
