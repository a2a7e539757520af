"""Python reads this at its start, since its folder stands first on PYTHONPATH (`kerncap extract`).

The user's own sitecustomize, which this one hides, is run as if this one were not here. Then Triton is waited for:
nothing is imported until the application imports it. Any Python that Triton supports runs this, without kerncap.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_hidden():
    import importlib.machinery
    import importlib.util

    others = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module  # as it expects; who imports the name later gets it as well
    spec.loader.exec_module(module)


def _watch_for_triton():
    from _kerncap_triton import watch

    watch.install()


try:
    if "KERNCAP_TRITON_RECORDS" in os.environ:
        _watch_for_triton()
finally:
    _run_hidden()
