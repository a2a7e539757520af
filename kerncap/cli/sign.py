"""`kerncap sign`: vouch for a bundle with a key, or have cosign or notation do it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from kerncap.cli import options
from kerncap.cli.output import ask_secret, note, print_json, say, set_verbosity, to_stderr
from kerncap.errors import UsageError, typed


def sign(
    bundle: Annotated[
        str | None,
        typer.Argument(
            metavar="[BUNDLE]",
            help="oci:DIR[:tag][@digest] or host[:port]/name[:tag][@digest].",
            autocompletion=options.completion.bundles,
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="PRIVATE.pem", help="Ed25519 or ECDSA P-256; with --with what that tool calls a key."
        ),
    ] = None,
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="PROGRAM",
            help="Have cosign or notation sign a reference, by its digest; it must be installed.",
            autocompletion=options.completion.signers,
        ),
    ] = None,
    pass_on: Annotated[
        list[str] | None,
        typer.Option("--pass-on", metavar="WORD", help="With --with: a further word for the program. May be repeated."),
    ] = None,
    keygen: Annotated[
        str | None,
        typer.Option("--keygen", metavar="NAME", help="Make a key pair instead: NAME.pem and NAME.pub.pem."),
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm", help="With --keygen: ed25519 or ecdsa-p256.", autocompletion=options.completion.algorithms
        ),
    ] = "ed25519",
    plain_http: options.PlainHttpOption = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
) -> None:
    """Sign a bundle's digest and attach the signature to it, in its layout or registry.

    A passphrase is asked for, or taken from KERNCAP_KEY_PASSPHRASE.
    """
    set_verbosity(verbose)
    if keygen is not None:
        if bundle is not None or key is not None or with_ is not None:
            raise UsageError("--keygen makes keys and signs nothing", code="usage.two-tasks", hint=_keygen(keygen))
        return _make_keys(keygen, algorithm, as_json)
    if bundle is None or (key is None and with_ is None):
        raise UsageError(
            "a bundle and a key are wanted", code="usage.no-key", hint="kerncap sign BUNDLE --key PRIVATE.pem"
        )
    if pass_on and with_ is None:
        raise UsageError("--pass-on is of --with", code="usage.option-alone", hint="--with cosign --pass-on WORD")
    if with_ is not None:
        return _sign_with(with_, bundle, key, pass_on or [], plain_http, as_json)
    _sign(bundle, Path(str(key)), plain_http, as_json)
    return None


def _sign(bundle: str, path: Path, plain_http: bool, as_json: bool) -> None:
    from kerncap.cli.trusted import signing_key
    from kerncap.transport import open_any
    from kerncap.workflows.trust import attach_signature, subject_of

    opened = open_any(bundle, plain_http=plain_http)
    digest = subject_of(opened).digest
    key = signing_key(path)
    assert key is not None
    done = attach_signature(opened, key)
    if as_json:
        print_json(_signed_json(bundle, digest, done.digest, key.key_id, None))
    else:
        say(done.digest)
        note(f"{digest} is signed by {key.key_id}")


def _sign_with(program: str, bundle: str, key: str | None, words: list[str], plain_http: bool, as_json: bool) -> None:
    from kerncap.workflows.trust import sign_with

    named = sign_with(program, bundle, key=key, plain_http=plain_http, words=words, say=to_stderr)
    if as_json:
        print_json(_signed_json(bundle, named.rpartition("@")[2], None, None, program))
    else:
        say(named)
        note(f"signed by {program}, which also checks it: {typed(program, 'verify', named)}")


def _signed_json(
    bundle: str, digest: str, referrer: str | None, key: str | None, program: str | None
) -> dict[str, object]:
    return {
        "schema": "kerncap.signed/1",
        "bundle": bundle,
        "digest": digest,
        "referrer": referrer,
        "key": key,
        "program": program,
    }


def _make_keys(name: str, algorithm: str, as_json: bool) -> None:
    from kerncap.trust.keys import PASSPHRASE_VARIABLE, new_pair

    passphrase = os.environ.get(PASSPHRASE_VARIABLE)
    if passphrase is None and sys.stdin.isatty():
        passphrase = ask_secret(f"passphrase of {name}.pem (empty: none)")
        if passphrase and ask_secret("again") != passphrase:
            raise UsageError("the two differ: no key was made", code="usage.passphrase", hint=_keygen(name))
    private, public, key_id = new_pair(name, algorithm, passphrase or "")
    if as_json:
        document = {"schema": "kerncap.key/1", "private": str(private), "public": str(public), "key": key_id}
        print_json({**document, "algorithm": algorithm, "encrypted": bool(passphrase)})
        return
    say(key_id)
    kept = "encrypted" if passphrase else "not encrypted: keep it where nobody else can read it"
    note(f"{private} ({kept}) signs, {public} is for those who check")


def _keygen(name: str) -> str:
    return typed("kerncap", "sign", "--keygen", name)


def register(app: typer.Typer) -> None:
    options.add_command(
        app,
        "sign",
        sign,
        summary="Sign a bundle, or make a key pair for it.",
        example="kerncap sign --keygen maintainer\n"
        "kerncap sign localhost:5000/kernels/vector_add:v1 --key maintainer.pem\n"
        "kerncap sign localhost:5000/kernels/vector_add:v1 --with cosign --key cosign.key",
    )
