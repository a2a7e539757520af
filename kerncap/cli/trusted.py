"""The policy `--key PUBLIC.pem` of the commands that use a bundle, and the keys that commands sign with.

Called by verify, pull, replay, validate, run, push, sign and attest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kerncap.cli.output import ask_secret, note, progress_bar

if TYPE_CHECKING:
    from kerncap.bundle import Bundle
    from kerncap.trust.keys import PrivateKey, PublicKey


def trusted(bundle: str, keys: Sequence[Path] | None, *, plain_http: bool) -> str:
    """How to name the bundle from now on; with keys, one of them signed what it names.

    Of one on this machine every blob is compared with its digest; what comes from a registry is while it comes.
    Raises: TrustError, before anything of the bundle but the manifest's bytes was looked at; BundleError.
    """
    if not keys:
        return bundle
    from kerncap.workflows.trust import require_whole

    source, digest, by = check_signature(bundle, keys, plain_http=plain_http)
    note(f"signed by {key_names(by)}")
    with progress_bar("verify") as progress:
        require_whole(source, digest, progress)
    return source


def check_signature(bundle: str, keys: Sequence[Path], *, plain_http: bool) -> tuple[str, str, tuple[PublicKey, ...]]:
    """As trusted_source of the workflow."""
    from kerncap.trust.keys import load_public_keys
    from kerncap.workflows.trust import trusted_source

    return trusted_source(bundle, load_public_keys(keys), plain_http=plain_http)


def open_trusted(bundle: str, keys: Sequence[Path] | None, *, plain_http: bool) -> Bundle:
    """open_any, and with keys only what one of them signed. Raises: TrustError."""
    from kerncap.transport import open_any

    if not keys:
        return open_any(bundle, plain_http=plain_http)
    from kerncap.workflows.trust import check_same

    source, digest, by = check_signature(bundle, keys, plain_http=plain_http)
    opened = open_any(source, plain_http=plain_http)
    check_same(opened, digest)
    note(f"signed by {key_names(by)}")
    return opened


def key_names(keys: Sequence[PublicKey]) -> str:
    """Ids, with the files that they came from."""
    return ", ".join(f"{key.key_id} ({key.name})" for key in keys)


def signing_key(path: Path | None) -> PrivateKey | None:
    """Asks for a passphrase where the key has one. Raises: UsageError `usage.key`, `usage.passphrase`."""
    if path is None:
        return None
    from kerncap.trust.keys import load_private

    return load_private(path, ask_secret)
