"""Keys of a person: Ed25519 and ECDSA on P-256, as PEM files.

In: paths. Out: a PrivateKey that signs, PublicKeys that check, new key pairs. A key is named by the sha256 of its
public half as DER (SubjectPublicKeyInfo). Called by the trust workflow.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kerncap.bundle.files import host_errors, open_named
from kerncap.errors import HostError, UsageError, typed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

PASSPHRASE_VARIABLE = "KERNCAP_KEY_PASSPHRASE"
ED25519, ECDSA_P256 = "ed25519", "ecdsa-p256"
ALGORITHMS = (ED25519, ECDSA_P256)
_MAX_KEY_BYTES = 64 << 10
_BLOCK = re.compile(rb"(-----BEGIN ([A-Z ]+)-----\s.*?-----END \2-----)", re.DOTALL)
_LOG = logging.getLogger(__name__)

Ask = Callable[[str], str]
"""Asks a person for a passphrase; gives what was typed."""


@dataclass(frozen=True)
class PublicKey:
    """`key_id` is `sha256:` and the digest of its DER; `name` is the path that was given."""

    name: str
    key_id: str
    _key: ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey = field(repr=False)

    def accepts(self, signature: bytes, data: bytes) -> bool:
        """Whether this key's private half signed `data`."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        try:
            if isinstance(self._key, ec.EllipticCurvePublicKey):
                self._key.verify(signature, data, ec.ECDSA(hashes.SHA256()))
            else:
                self._key.verify(signature, data)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True)
class PrivateKey:
    key_id: str
    _key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey = field(repr=False)

    def sign(self, data: bytes) -> bytes:
        """Ed25519: 64 bytes; ECDSA: DER, over the data's SHA-256."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        if isinstance(self._key, ec.EllipticCurvePrivateKey):
            return self._key.sign(data, ec.ECDSA(hashes.SHA256()))
        return self._key.sign(data)


def load_public(path: Path) -> PublicKey:
    """The first key of a file. Raises: as load_public_keys."""
    return load_public_keys([path])[0]


def load_public_keys(paths: Sequence[Path]) -> tuple[PublicKey, ...]:
    """Each once; a file may hold several, one after the other.

    Raises: UsageError `usage.key`, `usage.key-type`; HostError `host.no-cryptography`.
    """
    keys = {key.key_id: key for path in paths for key in _public_keys(path)}
    return tuple(keys.values())


def _public_keys(path: Path) -> Iterator[PublicKey]:
    """Every block of a file, so that nothing that a person wrote there is passed over in silence."""
    data = _read(path)
    blocks = [block for block, _ in _BLOCK.findall(data)]
    if len(blocks) != data.count(b"-----BEGIN "):
        raise _no_key(path, "public", ValueError("a block in it does not end"))
    for block in blocks or [data]:
        yield _public_key(path, block)


def _public_key(path: Path, data: bytes) -> PublicKey:
    serialization = _serialization()
    try:
        key = serialization.load_pem_public_key(data)
    except Exception as error:  # the library raises errors of several kinds for what is malformed
        if b"PRIVATE KEY-----" in data:
            raise UsageError(
                f"{path} is a private key; a signature is checked with the public half of it",
                code="usage.key",
                hint=typed("openssl", "pkey", "-in", path, "-pubout"),
            ) from None
        raise _no_key(path, "public", error) from None
    return PublicKey(str(path), _key_id(key, path), key)


def load_private(path: Path, ask: Ask) -> PrivateKey:
    """`ask` is called for an encrypted key unless the passphrase stands in the environment.

    Raises: UsageError `usage.key`, `usage.key-type`, `usage.passphrase`; HostError `host.no-cryptography`.
    """
    serialization = _serialization()
    data = _read(path)
    try:
        key = serialization.load_pem_private_key(data, None)
    except TypeError:  # it is encrypted
        key = _decrypted(path, data, ask)
    except Exception as error:  # as above
        raise _no_key(path, "private", error) from None
    _warn_of_readers(path)
    return PrivateKey(_key_id(key.public_key(), path), key)


def _decrypted(path: Path, data: bytes, ask: Ask) -> Any:
    passphrase = os.environ.get(PASSPHRASE_VARIABLE)
    if passphrase is None:
        passphrase = ask(f"passphrase of {path}")
    try:
        return _serialization().load_pem_private_key(data, passphrase.encode("utf-8", "surrogateescape"))
    except Exception:  # wrong, empty, or the decrypted key is malformed
        raise UsageError(
            f"{path}: the passphrase does not open it",
            code="usage.passphrase",
            hint=f"export {PASSPHRASE_VARIABLE}=...",
        ) from None


def new_pair(name: str, algorithm: str, passphrase: str) -> tuple[Path, Path, str]:
    """Write NAME.pem, which only its owner may read, and NAME.pub.pem; gives both and the key's id.

    An empty passphrase: the private key is not encrypted. Nothing is overwritten.
    Raises: UsageError `usage.output-exists`, `usage.key-type`; HostError.
    """
    serialization = _serialization()
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    if algorithm not in ALGORITHMS:
        raise UsageError(
            f"--algorithm is {algorithm[:40]!r}", code="usage.key-type", hint=f"--algorithm {' | '.join(ALGORITHMS)}"
        )
    if not name or name.endswith("/"):
        raise UsageError(
            f"--keygen is {name!r}, a name for the files is wanted",
            code="usage.key",
            hint=typed("kerncap", "sign", "--keygen", f"{name}maintainer"),
        )
    key = ec.generate_private_key(ec.SECP256R1()) if algorithm == ECDSA_P256 else ed25519.Ed25519PrivateKey.generate()
    encryption = (
        serialization.BestAvailableEncryption(passphrase.encode("utf-8", "surrogateescape"))
        if passphrase
        else serialization.NoEncryption()
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, encryption)
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    places = Path(f"{name}.pem"), Path(f"{name}.pub.pem")
    _write_new(places[0], private, 0o600)
    try:
        _write_new(places[1], public, 0o644)
    except BaseException:
        places[0].unlink()
        raise
    return *places, _key_id(key.public_key(), places[1])


def _write_new(path: Path, data: bytes, mode: int) -> None:
    with host_errors(path):
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            raise UsageError(
                f"{path} exists and is not overwritten", code="usage.output-exists", hint=typed("ls", "-l", path)
            ) from None
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise


def _key_id(key: Any, path: Path) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    known = isinstance(key, ed25519.Ed25519PublicKey) or (
        isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)
    )
    if not known:
        raise UsageError(
            f"{path}: keys are Ed25519 or ECDSA on P-256, this is another one",
            code="usage.key-type",
            hint="kerncap sign --keygen NAME",
        )
    serialization = _serialization()
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return "sha256:" + hashlib.sha256(der).hexdigest()


def _serialization() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise HostError(
            "keys need the Python package cryptography, which is not here",
            code="host.no-cryptography",
            hint="apt-get install python3-cryptography  # or: pip install cryptography",
        ) from None
    return serialization


def _read(path: Path) -> bytes:
    try:
        with open_named(path) as file:
            data = file.read(_MAX_KEY_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", code="usage.key", hint=typed("ls", "-l", path)) from None
    if len(data) > _MAX_KEY_BYTES:
        raise UsageError(f"{path} is too big for a key", code="usage.key", hint="kerncap sign --keygen NAME")
    return data


def _no_key(path: Path, kind: str, error: Exception) -> UsageError:
    return UsageError(
        f"{path} is no {kind} key in PEM: {str(error)[:120]}", code="usage.key", hint="kerncap sign --keygen NAME"
    )


def _warn_of_readers(path: Path) -> None:
    mode = path.stat().st_mode
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        _LOG.warning("%s: others than you may use this private key: %s", path, typed("chmod", "600", path))
