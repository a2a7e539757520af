"""A bundle that is loaded once and judged many times: its memory stays on the device between variants.

In: a bundle, a device. Out: a Verdict for each code object or source. `kerncap.Session` of the Python API; called by
`kerncap loop`.

    with Session("attention.kcap", device="gpu") as session:
        baseline = session.evaluate()
        verdict = session.evaluate("variant.hsaco")
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from kerncap.bundle.content import write_code_object
from kerncap.errors import UsageError, typed
from kerncap.limits import check_judging
from kerncap.results import Verdict
from kerncap.scratch import Scratch
from kerncap.verdict.plan import Tolerance
from kerncap.workflows.check import parse_checks
from kerncap.workflows.code import CodeFacts, facts_of
from kerncap.workflows.recompile import Sandbox, configuration_of, recompile_source
from kerncap.workflows.replay import OnDevice, Options, judge_with, on_device
from kerncap.workflows.replay_process import ReplayProcess


class Session:
    """One bundle on one device. Not for several threads at a time. Use it as a context manager, or call `close()`.

    `device`: as `--device`. `timeout_s`: seconds that one dispatch may take. `only`: one dispatch of a sequence.
    `trust`: source is compiled on this machine instead of in the sandbox, and may read any file that you can.
    `keys`: paths of public keys; a bundle that none of them has signed is refused before anything in it is used.
    A variant that faults or does not end costs the memory on the device, which is restored for the next one.

    Raises: BundleError (with `keys` TrustError), HostError, UsageError.
    """

    def __init__(
        self,
        bundle: str | os.PathLike[str],
        *,
        device: str = "auto",
        timeout_s: float = 60.0,
        only: int | None = None,
        trust: bool = False,
        keys: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        named = os.fspath(bundle)
        if keys:
            from kerncap.workflows.trust import require_trusted  # only this needs keys and their library

            named = require_trusted(named, [Path(key) for key in keys])
        self._subject: OnDevice = on_device(named, device, only)
        self._timeout_s, self._trust = timeout_s, trust
        self._scratch = Scratch("kerncap-session-")
        folder = Path(self._scratch.__enter__())
        self._process = ReplayProcess(
            self._subject.bundle,
            self._subject.device,
            folder,
            timeout_s=timeout_s,
            path=self._subject.path,
            resident=True,
        )

    @property
    def bundle(self) -> str:
        """What it was opened by."""
        return self._subject.path

    @property
    def device(self) -> str:
        """`vgpu:gfx942`, `gpu:0`."""
        return str(self._subject.device)

    def evaluate(
        self,
        hsaco: str | os.PathLike[str] | None = None,
        *,
        source: str | os.PathLike[str] | None = None,
        iterations: int = 2,
        atol: float = 0.0,
        rtol: float = 0.0,
        ulp: int = 0,
        kernel: str | None = None,
        check: str | None = None,
        config: str | None = None,
        programs: tuple[int, int, int] | list[int] | None = None,
    ) -> Verdict:
        """Judge a code object, or the captured one, as `kerncap validate` does: outputs poisoned, inputs perturbed.

        `source`: a reproducer directory, perhaps edited, whose source is compiled first; when its compiler is not the
        original's, the verdict's `reasons` say so. `config`: of a Triton kernel another configuration, as `--config`;
        `programs`: its grid, in programs, where it is not known.
        Raises: ReplayError, UsageError, HostError; with `source` CompileError, BundleError.
        """
        check_judging(atol, rtol, ulp, iterations)
        if source is not None and hsaco is not None:
            raise UsageError("both a code object and source are named", code="usage.option-alone", hint="--hsaco FILE")
        if kernel is not None and hsaco is None and source is None and config is None:
            text = "kernel says whose code object another one takes the place of, and no other one is given"
            raise UsageError(text, code="usage.option-alone", hint=f"--hsaco FILE {typed('--kernel', kernel)}")
        grid = None if programs is None else "x".join(map(str, programs))
        configuration = configuration_of(config, grid)
        if configuration is not None and hsaco is not None:
            text = "both a code object and a configuration are named"
            raise UsageError(text, code="usage.option-alone", hint="--hsaco FILE")
        if configuration is not None and source is None:
            source = self._subject.path
        difference = None
        with Scratch("kerncap-evaluate-") as scratch:
            if source is not None:
                sandbox = Sandbox(configuration=configuration)
                variant = Path(scratch, "variant.hsaco")
                made = recompile_source(os.fspath(source), variant, trust=self._trust, sandbox=sandbox)
                hsaco, difference = made.output, made.difference
            options = Options(
                hsaco=Path(hsaco) if hsaco is not None else None,
                iterations=iterations,
                tolerance=Tolerance(atol, rtol, ulp),
                timeout_s=self._timeout_s,
                kernel=kernel,
                check=parse_checks(check),
            )
            verdict = judge_with(self._process, self._subject, options, Path(scratch))
        return replace(verdict, reasons=(*verdict.reasons, difference)) if difference else verdict

    def code(self, hsaco: str | os.PathLike[str] | None = None) -> CodeFacts:
        """Registers, LDS, scratch, occupancy and instructions of a code object's kernel, or of the captured one.

        Raises: HostError, UsageError `usage.not-a-code-object`.
        """
        kernel = self._subject.bundle.capture.kernel.name
        if hsaco is not None:
            return facts_of(Path(hsaco), kernel)
        with Scratch("kerncap-code-") as scratch:
            return facts_of(write_code_object(self._subject.bundle, Path(scratch, "captured.hsaco")), kernel)

    def close(self) -> None:
        """Give the device its memory back."""
        self._process.close()
        self._scratch.__exit__(None, None, None)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
