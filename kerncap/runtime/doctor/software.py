"""Checks of what is installed on this host itself: HSA runtime, native files, rocjitsu.

In: a Host. Out: Checks. Called by the report. Nothing is started.
"""

from __future__ import annotations

import re
from pathlib import Path

from kerncap import native
from kerncap.errors import KerncapError, typed
from kerncap.runtime import catalog
from kerncap.runtime.doctor.host import Host
from kerncap.runtime.doctor.report import Check

_NATIVE_FILES = ("kerncap-isa", "kerncap-replay", "libkerncap.so", "libkerncap-vgpu.so")
_HSA_FILE = re.compile(r"libhsa-runtime64\.so\.([0-9][0-9.]*)\Z")
ROCJITSU = "rocjitsu"


def hsa_runtime(host: Host) -> Check:
    name = "hsa-runtime"
    path = host.hsa_runtime()
    if path is None:
        detail = "no libhsa-runtime64.so.1: no replay or capture on this host itself"
        return Check(name, "warn", detail, "kerncap run BUNDLE  # in a container instead")
    version = _HSA_FILE.search(path.name)
    shown = Path("/") / path.relative_to(host.root.resolve()) if path.is_relative_to(host.root.resolve()) else path
    text = f"{shown}" + (f", version {version[1]}" if version and version[1] != "1" else "")
    rocm = (host.text("/opt/rocm/.info/version") or "").strip()
    if rocm and "/opt/rocm" in str(shown):
        text += f", ROCm {rocm}"
    return Check(name, "ok", text)


def native_files() -> Check:
    name = "native-files"
    dev = catalog.image_name("dev", catalog.DEFAULT_SUITE)
    mend = f'docker run -it --rm -v "$PWD:/work" -w /work {dev}  # extract and replay in there'
    try:
        directory = native.find_native().directory
    except KerncapError as error:
        return Check(name, "warn", error.message, mend)
    missing = [file for file in _NATIVE_FILES if not (directory / file).is_file()]
    if missing:
        return Check(name, "fail", f"{directory} has no {', '.join(missing)}", "make native")
    return Check(name, "ok", str(directory))


def rocjitsu(host: Host, target: str | None = None) -> list[Check]:
    """AMD's emulator, where it is installed: one line, with the launcher that uses it for `target`."""
    program = host.program(ROCJITSU)
    if program is None:
        return []
    folder = program.parent.parent / "share" / "rocjitsu" / "configs"
    configurations = [path.name for path in host.listed(str(folder), "*.json")]
    if not configurations:
        text, mend = f"{program}, but no configurations in {folder}", typed("ls", folder)
        return [Check(ROCJITSU, "warn", text, mend)]
    fitting = [name for name in configurations if target is None or target in re.split(r"[._]", name)]
    if not fitting:
        text = f"{program}, which has no configuration for {target}, only {', '.join(configurations)}"
        return [Check(ROCJITSU, "warn", text, f"--device vgpu:{target}  # or --launcher with a configuration of yours")]
    chosen = next((name for name in fitting if name.endswith("_kmd.json")), fitting[0])
    launcher = typed(program, "--config", folder / chosen, "--")
    return [Check(ROCJITSU, "ok", f"{typed('kerncap', 'replay')} BUNDLE --launcher {typed(launcher)}")]
