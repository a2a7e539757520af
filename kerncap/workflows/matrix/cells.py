"""One cell in one container: the `docker run` line that stands in its report is the very one.

In: a Plan and a cell of it. Out: its result. Called by pool.py, in threads. A bundle in a registry is fetched to this
machine once for all of its cells, before the first of them; the line that is shown pulls it itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from kerncap.bundle.location import LayoutLocation, Location, RegistryLocation
from kerncap.bundle.progress import ProgressCall, no_progress
from kerncap.errors import KerncapError, bug, out_of_memory, refused_by_system
from kerncap.matrix import Cell, CellResult, judged, not_run
from kerncap.runtime import containers
from kerncap.scratch import Scratch
from kerncap.workflows.matrix.plan import Found, Plan
from kerncap.workflows.preflight import require_of_local


class ContainerRunner:
    """Runs cells; a context manager, because what it fetched is gone afterwards.

    `memory_bytes`: for each container, where the cell says nothing.
    """

    def __init__(self, plan: Plan, *, memory_bytes: int | None = None, progress: ProgressCall = no_progress) -> None:
        self._plan = plan
        self._memory_bytes = memory_bytes
        self._progress = progress
        self._stack = ExitStack()
        self._fetched: dict[str, Location | KerncapError] = {}
        self._scratch: Path | None = None
        self.cancellation = containers.Cancellation()

    def __enter__(self) -> ContainerRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def cancel(self) -> None:
        """End what runs, from another thread."""
        self.cancellation.cancel()

    def prepare(self, cell: Cell, say: Callable[[str], None] = lambda text: None) -> None:
        """Fetch its bundle, once; what goes wrong is the result of its cells. In the thread that may be interrupted."""
        found = self._plan.bundles[cell.bundle]
        if isinstance(found.source, RegistryLocation) and cell.bundle not in self._fetched:
            say(f"fetching {cell.bundle}")
            try:
                self._fetched[cell.bundle] = self._fetch(found.source)
            except KerncapError as error:
                self._fetched[cell.bundle] = error

    def run(self, cell: Cell) -> CellResult | None:
        """None: it was cancelled, and nothing is known of it. Never raises: what goes wrong is the cell's error."""
        start = time.monotonic()
        error: KerncapError
        try:
            cell = replace(cell, line=line_of(cell, self._plan, self._memory_bytes))
            return self._run(cell, start)
        except KerncapError as raised:
            error = raised
        except OSError as raised:
            error = refused_by_system(raised)
        except MemoryError:
            error = out_of_memory()
        except Exception as raised:
            error = bug(raised)
        if self.cancellation.cancelled:
            return None
        return not_run(cell, error, duration_s=time.monotonic() - start, finished=now())

    def _run(self, cell: Cell, start: float) -> CellResult | None:
        location = self._location(self._plan.bundles[cell.bundle])
        require_of_local(location, cell.device)
        # By its digest: another image may get its name while this one waits.
        job = replace(_job(cell, location, self._memory_bytes), image=cell.image_id or cell.image)
        outcome = containers.run(job, cancellation=self.cancellation)
        took_s = time.monotonic() - start
        try:
            containers.raise_for_failure(outcome, "validate", cell.bundle)
        except KerncapError as error:
            return not_run(cell, error, duration_s=took_s, finished=now())
        return judged(cell, outcome.stdout, duration_s=took_s, finished=now())

    def _location(self, found: Found) -> Location:
        if found.error is not None:
            raise found.error
        assert found.source is not None
        fetched = self._fetched.get(found.name, found.source)
        if isinstance(fetched, KerncapError):
            raise fetched
        return fetched

    def _fetch(self, source: RegistryLocation) -> Location:
        from kerncap.transport import copy_bundle, open_any

        if self._scratch is None:
            self._scratch = Path(self._stack.enter_context(Scratch("kerncap-matrix-")))
        place = LayoutLocation(self._scratch / f"bundle-{len(self._fetched)}")
        opened = open_any(source, plain_http=self._plan.plain_http)
        copy_bundle(opened, place, progress=self._progress)
        _let_be_read(place.path)
        return place


def line_of(cell: Cell, plan: Plan, memory_bytes: int | None = None, *, nodes_of_here: bool = True) -> str:
    """The `docker run` line that does it anywhere: of a registry bundle by reference and digest, else with its path.

    `nodes_of_here`: with this machine's device nodes; else the caller adds those of the machine that it is for.

    Raises: HostError, UsageError: the cell cannot run on this machine.
    """
    found = plan.bundles[cell.bundle]
    if found.error is not None or found.source is None:
        raise found.error or bug(ValueError(f"{cell.bundle} was not looked at"))
    if isinstance(found.source, RegistryLocation):
        lasting = containers.Lasting(str(found.source), plan.plain_http)
        with Scratch("kerncap-matrix-") as nothing:
            _let_be_read(Path(nothing))
            # In the line the reference takes the place of the folder.
            job = _job(cell, LayoutLocation(Path(nothing)), memory_bytes)
            return containers.docker_line(job if nodes_of_here else _without_nodes(job), lasting)
    job = _job(cell, found.source, memory_bytes)
    return containers.docker_line(job if nodes_of_here else _without_nodes(job))


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _job(cell: Cell, location: Location, memory_bytes: int | None) -> containers.Job:
    assert not isinstance(location, RegistryLocation)
    return containers.Job(
        image=cell.image,
        command="validate",
        bundle=location.path,
        tag=location.tag if isinstance(location, LayoutLocation) else None,
        arguments=cell.judging.arguments(),
        device=cell.device,
        timeout_s=cell.judging.timeout_s,
        memory_bytes=cell.judging.memory_bytes or memory_bytes,
    )


def _without_nodes(job: containers.Job) -> containers.Job:
    """The command inside is told of the device all the same."""
    assert job.device is not None
    return replace(job, device=None, arguments=(*job.arguments, "--device", job.device))


def _let_be_read(folder: Path) -> None:
    """By the user of the image, whatever our umask."""
    for at, _, files in os.walk(folder):
        for path, wanted in ((at, 0o755), *((os.path.join(at, name), 0o644) for name in files)):
            mode = os.lstat(path).st_mode
            if mode & wanted != wanted:
                os.chmod(path, mode | wanted)
