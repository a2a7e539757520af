"""Gives a reproducer of an Inductor kernel its source: from output_code.py, bound to the captured launch.

In: a reproducer directory, the file, the configuration where the shim did not record it. Out: `src/`, `triton.json`,
Makefile and reproducer.py, which need Triton alone; whether they give the captured code. Called by `kerncap source`,
and by the extract workflow before a capture has its name. The file is parsed, never run.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kerncap.bundle import Bundle, open_bundle
from kerncap.bundle.capture import Capture
from kerncap.bundle.code import SINGLE_FILES, SOURCE_FOLDER
from kerncap.bundle.content import write_code_object
from kerncap.capture.seal import NamedArgument, add_triton
from kerncap.errors import CompileError, HostError, UsageError, typed
from kerncap.reproducer import write_reproducer
from kerncap.scratch import Scratch
from kerncap.source.debug_info import machine_code
from kerncap.triton import pinned
from kerncap.triton.call import names_and_types, program_grid, reassemble, visible_sizes
from kerncap.triton.inductor_configuration import SWITCHES, Configuration, Launched, configuration_of
from kerncap.triton.inductor_file import InductorKernel, kernel_named, read_kernels, unknown_form
from kerncap.triton.inductor_match import check_arguments, check_recorded, numbers_of
from kerncap.triton.inductor_meta import Meta, meta_of
from kerncap.triton.records import Records
from kerncap.workflows.recompile import Sandbox, recompile_source

log = logging.getLogger(__name__)

UNKNOWN_RELEASE = "unknown"
_MODULE = "output_code"
_WAVE_32 = ("gfx10", "gfx11", "gfx12")


@dataclass(frozen=True)
class InductorSource:
    """output_code.py, what a person says of the configuration, and the release of Triton if they know it."""

    path: Path
    configuration: Mapping[str, Any] = field(default_factory=dict)
    release: str | None = None


@dataclass(frozen=True)
class Imported:
    """`same_code`: compiled again it is the captured machine code; None: it was not compiled here, `why_not`."""

    directory: Path
    kernel: str
    files: tuple[str, ...]
    release: str
    configuration: Mapping[str, Any]
    same_code: bool | None = None
    difference: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "kerncap.source-imported/1",
            "directory": str(self.directory),
            "kernel": self.kernel,
            "files": list(self.files),
            "triton": self.release,
            "configuration": dict(self.configuration),
            "same_code": self.same_code,
            "difference": self.difference,
        }


def import_source(directory: Path, source: InductorSource) -> Imported:
    """Write the source into a reproducer that has none.

    Raises: CompileError `compile.inductor-format`, `compile.no-kernel`, `compile.other-kernel`,
    `compile.configuration`, `compile.triton-source`; UsageError `usage.has-source`, `usage.config`,
    `usage.not-a-reproducer`; OSError. Then nothing was written.
    """
    try:
        return _import(directory, source)
    except RecursionError:
        raise unknown_form(f"a kernel in {source.path} is nested too deeply") from None


def _import(directory: Path, source: InductorSource) -> Imported:
    bundle = open_bundle(directory)
    document = _document(directory)
    kernel = kernel_named(read_kernels(source.path), bundle.capture.kernel.name, source.path)
    meta = meta_of(kernel)
    check_arguments(kernel, meta, bundle.capture)
    if document is None:
        records, chosen = _records(kernel, meta, source, bundle.capture)
        launch = reassemble(bundle.capture, records)
    else:
        check_recorded(kernel, meta, source.configuration, document)
        records, chosen = _of_document(kernel, source, document), _recorded(document)
        launch = document["launch"]
    _write(directory, records, launch, document)
    files = [path.relative_to(directory).as_posix() for path in sorted((directory / SOURCE_FOLDER).rglob("*.py"))]
    return Imported(directory, kernel.name, tuple(files), records.release, chosen)


def _write(directory: Path, records: Records, launch: Mapping[str, Any], document: Mapping[str, Any] | None) -> None:
    """All or nothing: what fails is found before the first file gets its place. `document`: what was recorded stays."""
    with Scratch(".kerncap-source-", directory.absolute()) as scratch:
        error = pinned.pin(Path(scratch), records, launch)
        if error is not None:
            raise error
        if document is not None:
            made = pinned.load_pinned(Path(scratch)) or {}
            kept = {name: made[name] for name in ("function", "main", "entry")}
            pinned.write_document(Path(scratch), {**document, **kept})
        os.rename(Path(scratch, SOURCE_FOLDER), directory / SOURCE_FOLDER)
        os.replace(Path(scratch, pinned.NAME), directory / pinned.NAME)
    capture = open_bundle(directory).capture
    named = names_and_types(records.kernel["signature"], visible_sizes(capture))
    tensors = [one["tensor"] for one in launch["arguments"]]
    arguments = [NamedArgument(*one, tensor) for one, tensor in zip(named, tensors, strict=False)]
    add_triton(directory / "capture", records.release, arguments)
    write_reproducer(directory, open_bundle(directory).capture)


def _document(directory: Path) -> dict[str, Any] | None:
    """triton.json, where the shim was there. Raises: UsageError where there is source already, or no reproducer."""
    if not (directory / "reproducer.json").is_file() and not (directory / "capture" / "capture.json").is_file():
        raise UsageError(
            f"{directory} is no reproducer directory",
            code="usage.not-a-reproducer",
            hint=typed("kerncap", "unpack", directory, "DIR"),
        )
    document = pinned.load_pinned(directory)
    there = [name for name in (SOURCE_FOLDER, *SINGLE_FILES) if os.path.lexists(directory / name)]
    if document is not None and document["entry"] is None:
        there.remove(pinned.NAME)
    if there:
        beside = directory.parent / f"{directory.name}-{there[0]}"
        hint = typed("mv", directory / there[0], beside)
        raise UsageError(f"{directory} has source already: {', '.join(there)}", code="usage.has-source", hint=hint)
    return document


def _records(
    kernel: InductorKernel, meta: Meta, source: InductorSource, capture: Capture
) -> tuple[Records, dict[str, Any]]:
    """As the shim would have written them, had it been there."""
    arch = capture.code_object.target.partition(":")[0]
    warp_size = 32 if arch.startswith(_WAVE_32) else 64
    launched = Launched(program_grid(capture), capture.dispatch.workgroup, numbers_of(meta, capture), warp_size)
    switches = {name: value for name, value in (capture.environment or {}).items() if name in SWITCHES}
    chosen = configuration_of(kernel, meta, switches | dict(source.configuration), launched)
    places = {name: place for place, name in enumerate(kernel.parameters)}
    described = {
        "name": kernel.name,
        "function": [_MODULE, kernel.name],
        "target": {"backend": "hip", "arch": arch, "warp_size": warp_size},
        "arguments": list(kernel.parameters),
        "signature": [[name, kind] for name, kind in meta.signature.items()],
        "constants": [[[places[name]], _encoded(value)] for name, value in chosen.constants.items()],
        "attributes": [[[place], [list(one) for one in found]] for place, found in meta.attributes.items()],
        "options": {name: _encoded(value) for name, value in chosen.options.items()},
    }
    process = {"triton": source.release or UNKNOWN_RELEASE, "python": "unknown", "known": True}
    return _with_module(process, described, kernel, source), _chosen(meta, chosen)


def _chosen(meta: Meta, configuration: Configuration) -> dict[str, Any]:
    return {name: configuration.constants[name] for name in meta.open} | dict(configuration.options)


def _recorded(document: Mapping[str, Any]) -> dict[str, Any]:
    """Constants by name, warps and stages."""
    names = document["arguments"]
    constants = {names[path[0]]: value for path, value in document["constants"] if path[0] < len(names)}
    options = document["options"]
    return constants | {name: options[name] for name in ("num_warps", "num_stages") if name in options}


def _of_document(kernel: InductorKernel, source: InductorSource, document: Mapping[str, Any]) -> Records:
    names = ("target", "arguments", "signature", "constants", "attributes", "options")
    described = {name: document[name] for name in names}
    described |= {"name": document["kernel"], "function": [_MODULE, kernel.name]}
    process = {"triton": document["triton"], "python": document["python"], "known": True}
    return _with_module(process, described, kernel, source)


def _with_module(
    process: dict[str, Any], described: dict[str, Any], kernel: InductorKernel, source: InductorSource
) -> Records:
    module = {"name": _MODULE, "package": "", "file": source.path.name, "text": kernel.text}
    return Records(process, described, (), {}, (), {}, {}, {_MODULE: module}, {}, ())


def _encoded(value: Any) -> Any:
    """As the shim writes values."""
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, tuple | list):
        return {"tuple" if isinstance(value, tuple) else "list": [_encoded(one) for one in value]}
    return value


def compile_imported(imported: Imported, *, trust: bool, sandbox: Sandbox) -> Imported:
    """Compile it and compare the machine code with the captured one; what is the same gives its release to the bundle.

    Raises: CompileError for what Triton refuses. Where nothing here has Triton, that is said in `difference`.
    """
    directory = imported.directory
    with Scratch(".kerncap-source-", directory.absolute().parent) as scratch:
        made = Path(scratch, "made.hsaco")
        try:
            outcome = recompile_source(str(directory), made, trust=trust, sandbox=sandbox)
        except HostError as error:
            return _with(imported, None, f"not compiled: {error.message}")
        compiler = outcome.compiler.removeprefix("Triton ")
        same = _same_code(open_bundle(directory), made, Path(scratch))
    if same is None:
        return _with(imported, None, "no llvm-objcopy here compares the code")
    if not same:
        return _with(imported, False, f"compiled by Triton {compiler} it is other code: judge it with kerncap validate")
    if imported.release == UNKNOWN_RELEASE:
        _note_release(directory, compiler)
    return _with(imported, True, None, compiler if imported.release == UNKNOWN_RELEASE else imported.release)


def _with(imported: Imported, same: bool | None, difference: str | None, release: str | None = None) -> Imported:
    return Imported(
        imported.directory,
        imported.kernel,
        imported.files,
        release or imported.release,
        imported.configuration,
        same,
        difference,
    )


def _same_code(bundle: Bundle, made: Path, scratch: Path) -> bool | None:
    """Instructions, descriptors and constants: what else is in a code object names files."""
    captured = write_code_object(bundle, scratch / "captured.hsaco")
    codes = machine_code(captured, scratch), machine_code(made, scratch)
    return None if None in codes else codes[0] == codes[1]


def _note_release(directory: Path, release: str) -> None:
    """The release that gives the same bytes is taken for the one that compiled the original."""
    document = pinned.load_pinned(directory) or {}
    pinned.write_document(directory, {**document, "triton": release})
    add_triton(directory / "capture", release, ())
    write_reproducer(directory, open_bundle(directory).capture)


def source_or_error(directory: Path, source: InductorSource, error: CompileError | None) -> CompileError | None:
    """For a capture that is being sealed: the source, unless the shim recorded it. What fails comes back."""
    document = pinned.load_pinned(directory)
    if document is not None and document["entry"] is not None:
        log.warning("the kernel's source was recorded: %s is not needed", source.path)
        return error
    try:
        import_source(directory, source)
    except CompileError as failure:
        return failure
    return None
