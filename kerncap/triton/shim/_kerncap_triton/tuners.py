"""Who tries configurations in Triton: its autotuner and heuristics."""

from _kerncap_triton.launches import doing
from _kerncap_triton.records import guarded
from _kerncap_triton.tool import tell_trial


def patch_autotuner(module):
    tuner_class = module.Autotuner
    run, bench = tuner_class.run, tuner_class._bench

    def run_noted(self, *args, **kwargs):
        doing.tuners.append(self)
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
