"""The doctor for a bundle: what of this host, and of the registry where the bundle lies, keeps it from being replayed.

In: a bundle's name or none, a device. Out: a Report. Called by `kerncap doctor`. Of a reference only manifest, config
and index are fetched.
"""

from __future__ import annotations

from dataclasses import replace

from kerncap import native
from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import RegistryLocation, parse_source
from kerncap.errors import TransportError
from kerncap.runtime import doctor
from kerncap.runtime.doctor import bundle_checks, disk
from kerncap.runtime.doctor.report import Check, Report


def examine(
    source: str | None, device: str = "auto", *, plain_http: bool = False, host: doctor.Host | None = None
) -> Report:
    """Raises: UsageError, BundleError of the bundle; what is wrong with the host or the registry is in the report."""
    host = host or doctor.Host()
    native.parse_device(device)
    if source is None:
        return doctor.examine(host)
    bundle, reached = _opened(source, plain_http)
    if bundle is None:
        return replace(doctor.examine(host), of_bundle=tuple(reached), bundle=source)
    need = doctor.need_of(bundle)
    chosen, target = bundle_checks.choose_device(need, device, host)
    checks = [*reached, target]
    if chosen is not None:
        checks += bundle_checks.checks_on(need, chosen, host)
    report = doctor.examine(host, target=need.target)
    return replace(report, of_bundle=tuple(checks), bundle=source, device=str(chosen) if chosen else None)


def _opened(source: str, plain_http: bool) -> tuple[Bundle | None, list[Check]]:
    """The bundle, and the way to it; None where a registry does not give it."""
    location = parse_source(source)
    if not isinstance(location, RegistryLocation):
        return open_bundle(location), []
    # Only a reference needs the transport, whose import takes longer than all the rest.
    from kerncap.transport import open_any
    from kerncap.transport.failures import Patience
    from kerncap.transport.reference import parse_reference

    reference = parse_reference(location.reference)
    try:
        bundle = open_any(location, plain_http=plain_http, patience=Patience(attempts=2, read_s=20.0))
    except TransportError as error:
        return None, [_registry_failed(error)]
    checks = [Check("registry", "ok", f"{reference.host} answers, and has {reference}")]
    if bundle.manifest is not None:
        checks.append(disk.room_for(bundle.manifest.total_bytes))
    return bundle, checks


def _registry_failed(error: TransportError) -> Check:
    mend = error.hint
    if error.code == "transport.tls" and "CERTIFICATE_VERIFY_FAILED" in error.message:
        mend = "export REQUESTS_CA_BUNDLE=FILE.pem  # with the authority that signed the registry's certificate"
    elif error.code == "transport.tls" and "WRONG_VERSION_NUMBER" in error.message:
        mend = "--plain-http  # what answers there speaks no TLS"
    return Check("registry", "fail", f"{_WHAT.get(error.code, 'it failed')}: {error.message}", mend)


# What kind of trouble it is, before the details.
_WHAT = {
    "transport.unauthorized": "the registry lives and refuses these credentials",
    "transport.insecure-realm": "the registry lives and asks for a password in clear",
    "transport.not-found": "the registry lives and does not have it",
    "transport.tls": "the registry lives, but TLS with it does not come about",
    "transport.unreachable": "the registry is dead, or a firewall is between",
    "transport.timeout": "the registry is dead, or very slow",
    "transport.proxy": "a proxy is between",
    "transport.protocol": "something answers there that is no registry",
}
