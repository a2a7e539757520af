"""Who tries configurations in Triton: its autotuner and heuristics."""

from _kerncap_triton.launches import doing
from _kerncap_triton.records import guarded
from _kerncap_triton.tool import tell_trial


class Tuning:
    """What Triton's tuner found out about the arguments of this call. It keeps the times of what it tuned last alone,
    which may have been for other ones.
    """

    def __init__(self, tuner, arguments):
        self.base_fn = tuner.base_fn
        self._tuner = tuner
        self._key = guarded("the key of a tuner", _key, tuner, arguments)
        self._before = _timings(tuner)

    @property
    def configs(self):
        return self._tuner.configs

    @property
    def best_config(self):
        return self._tuner.best_config

    @property
    def configs_timings(self):
        known = self._tuner.__dict__.setdefault("_kerncap_timings", {})
        if _timings(self._tuner) is not self._before:  # by this call
            known[self._key] = _timings(self._tuner)
        return known.get(self._key, {})


def _timings(tuner):
    return getattr(tuner, "configs_timings", None)


def _key(tuner, arguments):
    """By which a tuner tells calls apart: values of those arguments that it was told, types of the tensors."""
    args, kwargs = arguments
    named = {**dict(zip(tuner.arg_names, args)), **kwargs}  # noqa: B905 (Python 3.9 has no strict)
    types = [str(value.dtype) for name, value in named.items() if name in tuner.arg_names and hasattr(value, "dtype")]
    return (*(named[name] for name in tuner.keys if name in named), *types)


def patch_autotuner(module):
    tuner_class = module.Autotuner
    run, bench = tuner_class.run, tuner_class._bench

    def run_noted(self, *args, **kwargs):
        doing.tuners.append(Tuning(self, (args, kwargs)))
        try:
            return run(self, *args, **kwargs)
        finally:
            doing.tuners.pop()

    def _bench(self, *args, config, **meta):
        before, doing.trial = doing.trial, config
        try:
            return bench(self, *args, config=config, **meta)
        finally:
            doing.trial = before
            if before is None:
                end_trials()

    tuner_class.run, tuner_class._bench = run_noted, _bench
    if hasattr(module, "Heuristics"):
        patch_heuristics(module.Heuristics)


def patch_heuristics(heuristics_class):
    run = heuristics_class.run

    def run_noted(self, *args, **kwargs):
        doing.heuristics.append(tuple(self.values))
        try:
            return run(self, *args, **kwargs)
        finally:
            doing.heuristics.pop()

    heuristics_class.run = run_noted


def end_trials():
    """The benchmark has waited for them all."""
    for name in doing.trial_kernels:
        guarded("the tool library", tell_trial, name, False)
    doing.trial_kernels = set()
