"""Compiles a carried Triton kernel again: runs its reproducer script with a Python that has Triton.

In: a directory with `src/`, `triton.json` and the script, all but the script possibly a stranger's. Out: a code object.
Source is arbitrary Python: the recompile workflow decides where this may run.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kerncap import proc
from kerncap.errors import CompileError, HostError, typed
from kerncap.scratch import Scratch
from kerncap.triton.pinned import NAME

PYTHON_VARIABLE = "KERNCAP_TRITON_PYTHON"
_LOOK_TIMEOUT_S = 120.0
_LAST_LINES = 30
_KEPT = (
    "PATH",
    "PYTHONPATH",
    "LANG",
    "LC_ALL",
    "TRITON_HIP_LLD_PATH",
    "TRITON_LIBHIP_PATH",
    "LD_LIBRARY_PATH",
    "VIRTUAL_ENV",
)


def recompile(
    directory: Path,
    pinned: Mapping[str, Any],
    script: str,
    output: Path,
    *,
    told: str | None = None,
    timeout_s: float,
) -> str:
    """The Triton version that did it.

    `script` is run with `directory`'s source and `pinned`, its triton.json, perhaps with another configuration, `told`
    as it was typed; the code object is written to `output`, which must not exist, and beside it how to launch it.

    Raises: CompileError `compile.no-source`, `compile.failed`, `compile.timeout`; HostError `host.no-triton`;
    BundleError.
    """
    if pinned["entry"] is None:
        raise CompileError("the bundle carries no source of this Triton kernel", code="compile.no-source")
    python, version = find_triton()
    with Scratch("kerncap-triton-") as scratch:
        folder = Path(scratch)
        (folder / "src").symlink_to((directory / "src").absolute())
        (folder / NAME).write_text(json.dumps(pinned), encoding="utf-8")
        (folder / "reproducer.py").write_text(script, encoding="utf-8")
        environment = {key: os.environ[key] for key in _KEPT if key in os.environ}
        environment |= {"HOME": scratch, "TRITON_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        argv: list[str | Path] = [python, folder / "reproducer.py", "-o", output.absolute()]
        done = proc.run(argv, timeout_s=timeout_s, cwd=folder, env=environment, keep_bytes=1 << 20)
        if done.timed_out:
            raise CompileError(
                f"Triton took more than {timeout_s:g} s", code="compile.timeout", hint=f"--timeout {timeout_s * 4:g}"
            )
        if not done.ok or output.is_symlink() or not output.is_file():
            raise _failed(done, folder, told)
    return version


def find_triton() -> tuple[str, str]:
    """A Python with Triton, and Triton's version. Raises: HostError `host.no-triton`."""
    named = os.environ.get(PYTHON_VARIABLE)
    for python in [named] if named else [sys.executable, "python3"]:
        argv = [python, "-c", "import triton; print(triton.__version__)"]
        done = proc.run(argv, timeout_s=_LOOK_TIMEOUT_S)
        found = re.fullmatch(r"\d+\.\d+\S*", done.text.strip().rpartition("\n")[2])
        if done.ok and found:
            return python, found[0]
    raise HostError(
        f"no Triton is installed for {named or 'the Python here'}",
        code="host.no-triton",
        hint="kerncap recompile BUNDLE -o FILE  # in the sandbox, after: kerncap image build --only triton",
    )


def _failed(done: proc.Completed, folder: Path, told: str | None) -> CompileError:
    """With the names of files that a person can edit."""
    said = (done.error_text + done.text).replace(f"{folder}{os.sep}", "")
    tail = "\n".join(said.strip().splitlines()[-_LAST_LINES:])
    edit = typed("edit", Path("src/kernel_variant.py"))
    return CompileError(
        f"Triton refused the source{f' for the configuration {told}' if told else ''}:\n{tail}",
        code="compile.failed",
        hint=f"kerncap inspect BUNDLE  # lists configurations that were tried, for --config; or {edit}"
        if told
        else edit,
    )
