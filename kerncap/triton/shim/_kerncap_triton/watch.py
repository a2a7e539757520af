"""Waits for the modules that are to be wrapped. Until they come nothing else is imported, of this package either."""

import importlib
import importlib.machinery
import os
import sys

from _kerncap_triton import tool

# Module: what wraps it.
PATCHES = {
    "triton.runtime.jit": ("sources", "patch_functions"),
    "triton.compiler.compiler": ("kernels", "patch_compiler"),
    "triton.runtime.autotuner": ("tuners", "patch_autotuner"),
    "torch._inductor.runtime.static_triton_launcher": ("inductor", "patch_static_launcher"),
    "torch._inductor.runtime.triton_heuristics": ("inductor", "patch_tuner"),
}


def wrap(name, module):
    """What fails here is said, and the application has its module as it is."""
    try:
        from _kerncap_triton.records import complain, triton_version
    except Exception as error:  # a module of the application's that took the place of one of Python's
        os.write(2, f"kerncap: triton: {type(error).__name__}: {error}; captures will lack what Triton did\n".encode())
        return
    place, function = PATCHES[name]
    try:
        getattr(importlib.import_module("_kerncap_triton." + place), function)(module)
    except Exception as error:
        complain(f"{name} of Triton {triton_version()}", error)


class Finder:
    """Sees these modules come in, and lets whoever finds them find them."""

    def find_spec(self, name, path=None, target=None):
        if name not in PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            wrap(name, module)

        spec.loader.exec_module = exec_module
        return spec


def install():
    sys.meta_path.insert(0, Finder())
    tool.end_in_order()
