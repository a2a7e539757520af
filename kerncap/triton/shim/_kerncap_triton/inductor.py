"""torch's Inductor: its own tuner, and its own launcher that goes past Triton's.

Seen with torch 2.14. `CachingAutotuner.run` tunes, then launches through Triton's compiled kernel, or (where it can)
through StaticallyLaunchedTritonKernel, which has the code object alone and may be a compile worker's or a cache's.
"""

import hashlib

from _kerncap_triton.launches import Launches, doing
from _kerncap_triton.records import guarded
from _kerncap_triton.tuners import end_trials


class Tuning:
    """What Inductor's tuner found out, in the words of Triton's own."""

    def __init__(self, tuner):
        self.base_fn = tuner.fn
        self.configs_timings = tuner.__dict__.setdefault("_kerncap_timings", {})
        self._tuner = tuner

    @property
    def configs(self):
        return list(self.configs_timings)

    @property
    def best_config(self):
        launchers = self._tuner.launchers
        return launchers[0].config if len(launchers) == 1 else None


def patch_tuner(module):
    """torch.compile times the configurations of its kernels itself: one after another, then near the best."""
    tuner_class = module.CachingAutotuner
    bench, run = tuner_class.bench, tuner_class.run

    def bench_noted(self, launcher, *args, **kwargs):
        before, doing.trial = doing.trial, launcher.config
        try:
            took = bench(self, launcher, *args, **kwargs)
        finally:
            doing.trial = before
            if before is None:
                end_trials()
        self.__dict__.setdefault("_kerncap_timings", {})[launcher.config] = took
        return took

    def run_noted(self, *args, **kwargs):
        doing.tuners.append(Tuning(self))
        try:
            return run(self, *args, **kwargs)
        finally:
            doing.tuners.pop()

    tuner_class.bench, tuner_class.run = bench_noted, run_noted
    # Launches from C, of which nothing would be seen; without it the tuner takes the static launcher below.
    if hasattr(tuner_class, "_build_fast_launcher"):
        tuner_class._build_fast_launcher = lambda self, launcher: None


def patch_static_launcher(module):
    kernel_class = module.StaticallyLaunchedTritonKernel
    made, load, run = kernel_class.__init__, kernel_class.load_kernel, kernel_class.run

    def __init__(self, kernel):
        made(self, kernel)
        self._kerncap_digest = getattr(kernel, "_kerncap_digest", None)

    def load_kernel(self, device):
        guarded("a static launcher", _know, self)
        return load(self, device)

    def run_noted(self, grid_x, grid_y, grid_z, stream, *args):
        launches = self.__dict__.get("_kerncap_launches")
        if launches is not None:
            guarded("a launch", launches.record, (grid_x, grid_y, grid_z), args)
        return run(self, grid_x, grid_y, grid_z, stream, *args)

    kernel_class.__init__, kernel_class.load_kernel, kernel_class.run = __init__, load_kernel, run_noted
    state = kernel_class.__getstate__

    def __getstate__(self):
        kept = state(self)
        kept.pop("_kerncap_launches", None)
        return kept

    kernel_class.__getstate__ = __getstate__


def _know(kernel):
    """Which code object it launches: of the compiler, in this process or a worker, or of a cache of an earlier run."""
    if "_kerncap_launches" in kernel.__dict__:
        return
    digest = kernel.__dict__.get("_kerncap_digest")
    if digest is None:
        code = getattr(kernel, "cubin_raw", None)
        if code is None:
            with open(kernel.cubin_path, "rb") as file:
                code = file.read()
        digest = kernel._kerncap_digest = "sha256:" + hashlib.sha256(code).hexdigest()
    # Constants are not among what it is launched with: the arguments are those of the signature that are none.
    kernel._kerncap_launches = Launches(kernel.name, digest, without_constants=True)
