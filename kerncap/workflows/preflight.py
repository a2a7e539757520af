"""What the doctor would say of a replay, before it begins: the device that is taken, and whether it can work there.

In: a bundle, `--device`. Out: the device; or the error of the first check that fails. Called by the workflows replay
and run. Capture and index are all that is looked at, and a few small files of this host.
"""

from __future__ import annotations

import os

from kerncap import native
from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.location import Location
from kerncap.errors import BundleError, HostError
from kerncap.runtime import doctor
from kerncap.workflows.launcher import Launcher


def checked_device(bundle: Bundle, choice: str, launcher: Launcher | None = None) -> tuple[native.Device, str | None]:
    """The device, and what a person may want to know of the choice. Under a launcher a GPU may be the launcher's.

    Raises: HostError `host.NAME` of the doctor's checks, `host.no-gpu`, `host.wrong-gpu`, `host.no-device`; UsageError
    `usage.device`.
    """
    need = doctor.need_of(bundle)
    device = launcher.device(choice) if launcher is not None else None
    if device is not None:
        doctor.require_addresses(need)
        return device, None
    found, remark = native.replay_device(choice, need.target)
    doctor.require(need, found)
    return found, remark or native.without_gpu(choice, found)


def require_of_local(location: Location, choice: str) -> None:
    """As require_for_container(). A bundle that cannot be read is not judged here: the container says what is wrong."""
    try:
        bundle = open_bundle(location)
    except (BundleError, HostError, OSError):
        return
    require_for_container(bundle, choice)


def require_for_container(bundle: Bundle, choice: str) -> None:
    """As checked_device(), for a container of this host; one of an engine elsewhere is checked there, in the container.

    Raises: the same.
    """
    if not os.environ.get("DOCKER_HOST", "unix:").startswith("unix:"):
        return
    need = doctor.need_of(bundle)
    found, _ = native.replay_device(choice, need.target)
    doctor.require(need, found, nodes=False)
