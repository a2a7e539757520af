"""Fixtures of the tests with real programs: a container of the image that a module names with `APP`, and a virtual GPU.

Each image is large and built only by `make test-apps`; tests of an image that is not there are skipped by its name.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from containers import DevContainer, running
from paper_workloads import Workload, idle_variant

from kerncap.runtime import catalog

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent

Run = subprocess.CompletedProcess[str]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = config.getoption("--app")
    for item in items:
        if HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.apps)
        app = item.module.APP  # type: ignore[attr-defined]
        if chosen and app not in chosen:
            item.add_marker(pytest.mark.skip(reason=f"--app names {', '.join(chosen)}, not {app}"))
        elif not image_exists(app):
            item.add_marker(pytest.mark.skip(reason=f"no image kerncap/apps:{app}: make test-apps APPS={app}"))


_EXISTS: dict[str, bool] = {}


def image_exists(app: str) -> bool:
    if app not in _EXISTS:
        argv = ["docker", "image", "inspect", catalog.image_name("apps", app)]
        _EXISTS[app] = subprocess.run(argv, capture_output=True).returncode == 0
    return _EXISTS[app]


@dataclass(frozen=True)
class Programs:
    """The programs of one image, and a way to run them on a virtual GPU."""

    container: DevContainer

    def run(
        self,
        device: str | None,
        argv: Sequence[str | os.PathLike[str]],
        *,
        env: dict[str, str] | None = None,
        timeout_s: float = 600,
    ) -> Run:
        """`device`: KERNCAP_VGPU, or None for no GPU at all. A signal's end is an exit code."""
        environment = dict(env or {})
        if device is not None:
            environment["KERNCAP_VGPU"] = device
            environment["LD_PRELOAD"] = str(self.container.native_dir / "libkerncap-vgpu.so")
        # Through a shell: it turns a signal's end into an exit code, and is no user of the device itself.
        return self.container.run(["bash", "-c", '"$@"', "-", *argv], env=environment, timeout_s=timeout_s)

    def kerncap(self, *argv: str | os.PathLike[str], exit_codes: Sequence[int] = (0,), timeout_s: float = 1200) -> str:
        """What a command prints; with another exit code the test fails."""
        done = self.container.run(["python3", "-m", "kerncap", *argv], timeout_s=timeout_s)
        assert done.returncode in exit_codes, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def judge(self, workload: Workload, target: str, *, no_source: str | None = None) -> dict[str, Any]:
        """Extract by name, seal, replay the sealed bundle, refuse a kernel that does nothing; the replay's verdict.

        `no_source`: source is asked for as well, and the error that comes instead says this of the kernel.
        """
        device = f"vgpu:{target}"
        made = self.container.work / f"{workload.kernel.strip('_*')}-{target}.kcap"
        bundle = made.with_suffix(".kcap.tar")
        which = ("--dispatch", str(workload.dispatch), "--device", device, "--timeout", "1000")
        more = ("--json", "--source-dir", self.container.work) if no_source else ("--json",)
        codes = (8,) if no_source else (0,)
        command = ("extract", workload.kernel, "-o", made, *which, *more, "--", *workload.command)
        extracted = json.loads(self.kerncap(*command, exit_codes=codes))
        if no_source is not None:
            assert no_source in extracted["source_error"]["message"]
        self.kerncap("pack", made, "-o", bundle)
        verdict: dict[str, Any] = json.loads(self.kerncap("replay", bundle, "--device", device, "--json"))
        assert verdict["verdict"] == "faithful", verdict
        assert verdict["changed_bytes"] > 0
        variant = ("--hsaco", idle_variant(made), "--device", device, "--json")
        refused = json.loads(self.kerncap("validate", bundle, *variant, exit_codes=(1,)))
        assert refused["verdict"] == "differs", refused
        return verdict


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    app = catalog.load(ROOT).app(request.module.APP)
    base, work = tmp_path_factory.getbasetemp(), tmp_path_factory.mktemp(f"apps-{app.name}")
    with running(catalog.image_name("apps", app.name), app.suite, ROOT, base, work) as container:
        yield Programs(container)
