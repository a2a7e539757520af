"""kerncap-replay as a process: one for a replay, or one that stays and keeps a bundle's memory on the device.

In: a bundle, a device, runs. Out: ReplayResult. Called by the workflows replay, extract (self-check) and session.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kerncap import native, proc
from kerncap.bundle import Bundle
from kerncap.bundle.dispatch import CodeObject
from kerncap.errors import HostError, KerncapError, ReplayError, error_from_code, typed
from kerncap.results import ReplayResult, parse_replay_result
from kerncap.workflows.launcher import Launcher

log = logging.getLogger(__name__)

# kerncap-replay bounds each wait by its own limit; this only catches one that hangs all the same.
_GRACE_S = 60.0
# It waits for blobs while somebody brings them, who gives up by limits of his own: it notices that at once.
_ARRIVAL_S = 7 * 86_400.0
_LOADER_FAILED = 127
# A debugger or profiler may work before and after it.
_LAUNCHED_GRACE_S = 600.0


class ReplayProcess:
    """kerncap-replay for one bundle on one device.

    With `resident` the process stays after its first answer, and further runs find the memory on the device. One that
    ended (a fault, a time-out) is started anew. `path` is how the user named the bundle, for hints. A `launcher` starts
    it, once for each run(): what that prints goes to stderr, and none stays. Use it as a context manager.
    """

    def __init__(
        self,
        bundle: Bundle,
        device: native.Device,
        scratch: Path,
        *,
        timeout_s: float,
        withhold_variables: bool = False,
        trace: Path | None = None,
        check: native.CheckFiles | None = None,
        path: str | None = None,
        resident: bool = False,
        launcher: Launcher | None = None,
    ) -> None:
        self._bundle, self._device, self._scratch, self._path = bundle, device, scratch, path
        self._timeout_s, self._withhold_variables = timeout_s, withhold_variables
        self._files = native_for(path)
        self._launcher = launcher
        # A comma would end the word of the virtual GPU's options.
        self._stops = scratch / "stops.txt" if launcher is not None and "," not in str(scratch) else None
        environment = native.device_environment(device, self._files, os.environ, trace, check, self._stops)
        self._environment = launcher.environment(device, self._files, environment) if launcher else environment
        self._documents = bundle.write_documents(scratch)
        arriving = bundle.arriving  # before the blobs: those that come in between are no loss
        self._arriving = None if arriving is None else arriving.absolute()
        self._blobs = {
            digest: {"path": str(where.path.absolute()), "offset": where.offset, "size": where.size}
            for digest, where in bundle.promised_locations().items()
        }
        self._resident = resident and launcher is None  # who types at a debugger has the standard input
        self._service: proc.Service | None = None

    def __enter__(self) -> ReplayProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process that stayed."""
        if self._service is not None:
            self._service.close()
            self._service = None

    def run(
        self, runs: Sequence[native.ReplayRun], *, kernel: str | None = None, launch: native.Launch | None = None
    ) -> ReplayResult:
        """`kernel`: of whose code object a variant takes the place; `launch`: of a variant, if not the captured one.

        Raises: HostError, BundleError, ReplayError.
        """
        request, answer = self._scratch / "request.json", self._scratch / "result.json"
        answer.unlink(missing_ok=True)
        document = native.replay_request(
            self._documents.capture,
            self._documents.index,
            self._blobs,
            [replace(run, kernel=kernel, launch=launch) for run in runs],
            agent=self._device.index if self._device.kind == "gpu" else 0,
            timeout_s=self._timeout_s,
            withhold_variables=self._withhold_variables,
            arriving=self._arriving,
        )
        native.write_document(request, document)
        steps = len(self._bundle.capture.steps)
        whole = sum(self._timeout_s * steps * (run.iterations + run.warmup) for run in runs) + _GRACE_S
        whole += _ARRIVAL_S if self._arriving is not None else 0.0
        try:
            ended = self._ask(request, answer, whole) if self._resident else self._start(request, answer, whole)
        except BaseException:
            # Its answer would come later and be taken for the next run's.
            self.close()
            raise
        if not answer.is_file():
            assert ended is not None
            raise _no_answer(ended, whole, self._path, self._launcher)
        try:
            result = parse_replay_result(json.loads(answer.read_text("utf-8")))
        except ValueError as error:
            raise ReplayError(f"kerncap-replay wrote no JSON: {error}", code="replay.bad-result") from error
        if result.error is None or ended is None:
            return result
        codes = [step.code_object for step in self._bundle.capture.steps]
        said = ended.error_text if self._stops is None else _read_once(self._stops)
        return replace(result, error=_stopped_by(said, codes) or result.error)

    def _start(self, request: Path, answer: Path, whole_s: float) -> proc.Completed:
        if self._launcher is not None:
            argv = (*self._launcher.words, str(self._files.replay), str(request), str(answer))
            return proc.run_attached(argv, timeout_s=whole_s + _LAUNCHED_GRACE_S, env=self._environment)
        return proc.run(
            [self._files.replay, request, answer],
            timeout_s=whole_s,
            env=self._environment,
            on_stderr=_forward,
            keep_bytes=1 << 16,
        )

    def _ask(self, request: Path, answer: Path, whole_s: float) -> proc.Completed | None:
        """None: it answered, and stays."""
        if self._service is None:
            argv = (self._files.replay, request, answer, Path("--resident"))
            self._service = proc.Service(argv, env=self._environment, on_stderr=_forward)
        else:
            self._service.tell(json.dumps([str(request), str(answer)], ensure_ascii=False))
        said = self._service.answer(whole_s)
        if isinstance(said, proc.Completed):
            self._service = None
            return said
        return None


_NO_CODE = re.compile(r"no code at this address at pc (0x[0-9a-f]+)")


def _stopped_by(said: str, codes: Sequence[CodeObject]) -> KerncapError | None:
    """Why the virtual GPU stopped the queue: kerncap-replay sees a queue error only. Faults it reports itself."""
    for stop in native.stops_in(said):
        if stop.code != "vgpu.page-fault":
            no_code = _NO_CODE.search(stop.text)
            if no_code and any(c.load_va <= int(no_code[1], 16) < c.load_va + c.load_size for c in codes):
                return ReplayError(
                    "the kernel calls a function by an address that was stored in memory and that leads nowhere in the "
                    "code object that is replayed",
                    code="replay.code-address",
                    hint="nm -C VARIANT  # it must keep the functions whose addresses are stored, under their names",
                )
            hint = "--device gpu  # and report the instruction"
            return error_from_code(stop.code, stop.text, hint)
    return None


def _read_once(stops: Path) -> str:
    """The virtual GPU's stop lines of this run: stderr is the launcher's, too."""
    try:
        return stops.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
    finally:
        stops.unlink(missing_ok=True)


def _forward(piece: bytes) -> None:
    for line in piece.decode("utf-8", "replace").splitlines():
        log.info("%s", line)


def native_for(path: str | None) -> native.NativeFiles:
    """Raises: HostError `host.no-native-files`, with the container's command line."""
    try:
        files = native.find_native()
        assert files.replay
        return files
    except HostError as error:
        raise _with_container_hint(error, path) from None


def _with_container_hint(error: HostError, path: str | None) -> HostError:
    if path is None:
        return error
    return HostError(error.message, code=error.code, hint=typed("kerncap", "run", path))


def _no_answer(
    done: proc.Completed, limit_s: float, path: str | None, launcher: Launcher | None = None
) -> KerncapError:
    if launcher is not None and not done.timed_out:
        how = f"exit code {done.returncode}" if done.returncode >= 0 else f"signal {-done.returncode}"
        return ReplayError(
            f"{launcher.name} ended with {how}, and kerncap-replay behind it left no result",
            code="replay.launcher",
            hint=typed(*launcher.words, "true") + "  # does it start a program?",
        )
    said = "\n".join(done.error_text.strip().splitlines()[-3:])
    if done.returncode == _LOADER_FAILED and "shared librar" in said:
        return _with_container_hint(
            HostError(f"kerncap-replay does not start: {said}", code="host.no-hsa-runtime", hint=None), path
        )
    if done.timed_out:
        return ReplayError(
            f"the replay did not end within {limit_s:g} s", code="replay.timeout", hint=f"--timeout {limit_s * 4:g}"
        )
    how = f"exit code {done.returncode}" if done.returncode >= 0 else f"signal {-done.returncode}"
    return ReplayError(
        f"kerncap-replay ended with {how} and without a result" + (f": {said}" if said else ""),
        code="replay.crashed",
        hint="kerncap replay BUNDLE -vv  # shows what it said",
    )
