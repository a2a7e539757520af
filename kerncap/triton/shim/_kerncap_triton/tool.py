"""The tool library of this process: hears which dispatches are trials, and of an end that runs no handlers."""

import os


def _tool():
    """The tool library, which the runtime has loaded or will; None where there is none."""
    import ctypes

    path = os.environ.get("HSA_TOOLS_LIB", "")
    try:
        return ctypes.CDLL(path) if os.path.basename(path) == "libkerncap.so" else None
    except OSError:
        return None


def tell_trial(name, begins):
    library = _tool()
    if library is not None:
        getattr(library, "kerncap_trials_begin" if begins else "kerncap_trials_end")(name.encode())


def end_in_order():
    """os._exit runs no handlers, and multiprocessing ends its children so: the tool library ends its work before."""
    leave = os._exit

    def _exit(status):
        # Only where the runtime has loaded it: nothing is loaded just to end.
        if os.path.basename(os.environ.get("HSA_TOOLS_LIB", "")) == "libkerncap.so":
            from _kerncap_triton.records import guarded

            guarded("the end of this process", _finish)
        leave(status)

    os._exit = _exit


def _finish():
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        loaded = os.environ["HSA_TOOLS_LIB"] in maps.read()
    library = _tool() if loaded else None
    if library is not None:
        library.kerncap_before_exit()
