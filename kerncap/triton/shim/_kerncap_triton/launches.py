"""Each different launch of a kernel, before it is made, and what the thread that makes it is in the middle of."""

import hashlib
import json
import threading

from _kerncap_triton.records import guarded, records
from _kerncap_triton.tool import tell_trial
from _kerncap_triton.values import encode, encode_argument

# Different launches of one process that are written down. A loop over new buffers makes no end of them.
MOST_LAUNCHES = 20_000


class Doing(threading.local):
    """What this thread is in the middle of: autotuners, the innermost last, and whether a launch is a trial."""

    def __init__(self):
        self.tuners = []
        self.heuristics = []
        self.trial = None
        self.trial_kernels = set()


doing = Doing()


class Launches:
    """Of one code object: each different one is written down."""

    def __init__(self, name, digest, without_constants=False):
        self._name = name
        self._digest = digest
        self._without_constants = without_constants
        self._written = 0

    def record(self, grid, arguments):
        if doing.trial is not None and self._name not in doing.trial_kernels:
            doing.trial_kernels.add(self._name)
            tell_trial(self._name, True)
        if self._written >= MOST_LAUNCHES:
            return
        document = {
            "hsaco": self._digest,
            "grid": [int(n) for n in grid],
            "arguments": [encode_argument(value) for value in arguments],
            "trial": doing.trial is not None,
        }
        if self._without_constants:
            document["constants"] = False
        tuner = doing.tuners[-1] if doing.tuners else None
        if doing.trial is not None:
            document["configuration"] = configuration(doing.trial)
        elif tuner is not None and tuner.best_config is not None:
            document["tuning"] = record_tuning(tuner)
            document["configuration"] = configuration(tuner.best_config)
        if doing.heuristics:
            document["heuristics"] = sorted({name for names in doing.heuristics for name in names})
        if records.write("launch", ("launch", json.dumps(document, default=repr)), document):
            self._written += 1


class Launcher:
    """Stands in for what launches a kernel: writes the launch down, then makes it."""

    def __init__(self, launcher, kernel):
        self._launcher = launcher
        self._launches = Launches(kernel.metadata.name, kernel._kerncap_digest)

    def __getattr__(self, name):
        return getattr(self._launcher, name)

    def __call__(self, grid_x, grid_y, grid_z, stream, function, *rest):
        guarded("a launch", self._launches.record, (grid_x, grid_y, grid_z), rest[4:])
        return self._launcher(grid_x, grid_y, grid_z, stream, function, *rest)


def configuration(config):
    whole = config.all_kwargs()
    return {key: encode(value) for key, value in sorted(whole.items())}


def record_tuning(tuner):
    """What was tried: the number of the record; None where nothing was."""
    if not tuner.configs:
        return None
    function = tuner.base_fn
    timings = getattr(tuner, "configs_timings", None) or {}
    tried = []
    for config in tuner.configs:
        time = timings.get(config)
        low = time[0] if isinstance(time, (list, tuple)) else time
        tried.append({"configuration": configuration(config), "ms": None if low is None else encode(float(low))})
    document = {"function": [function.__module__, function.__qualname__], "tried": tried}
    identity = hashlib.sha256(json.dumps(document, default=repr).encode()).hexdigest()[:16]
    records.write("tuning", ("tuning", identity), {"id": identity, **document})
    return identity
