"""Writes down what Triton compiles and launches: one file of JSON lines a process, in KERNCAP_TRITON_RECORDS.

In: Triton's own classes, when the application imports them. Out: `triton-<pid>.jsonl` (docs/interfaces.md, Triton's
records): kernels by the digest of their code objects, each different launch before it is made, tunings. The tool
library hears which dispatches are trials of the autotuner. Started by sitecustomize.py; runs in the application, so
it needs nothing but Triton, and whatever fails here is said and does not reach the application.
"""

import ctypes
import hashlib
import importlib.machinery
import inspect
import json
import os
import sys
import threading

# Releases whose insides were looked at; another one is named in the records, and tried all the same.
KNOWN = ("3.4", "3.5", "3.6", "3.7", "3.8", "3.9")
# Different launches of one process that are written down. A loop over new buffers makes no end of them.
MOST_LAUNCHES = 20_000
MOST_TEXT = 4 << 20
# What a kernel's source leads to stops here: these are installed where it is compiled again.
TOOLCHAIN = ("triton", "torch", "numpy")


class Records:
    """The file of this process; a forked child has its own. Lines are whole: each is one write."""

    def __init__(self, folder):
        self._folder = folder
        self._lock = threading.Lock()
        self._pid = None
        self._fd = None
        self._written = set()

    def write(self, kind, key, document):
        """Once for each key."""
        with self._lock:
            if self._pid != os.getpid():
                self._open()
            if key in self._written:
                return False
            self._written.add(key)
            line = json.dumps({"record": kind, **document}, default=repr) + "\n"
            os.write(self._fd, line.encode("utf-8", "backslashreplace"))
            return True

    def _open(self):
        import platform

        self._pid = os.getpid()
        self._written = set()
        path = os.path.join(self._folder, f"triton-{self._pid}.jsonl")
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        version = _triton_version()
        head = {
            "record": "process",
            "schema": "kerncap.triton-records/1",
            "pid": self._pid,
            "triton": version,
            "known": version.rpartition(".")[0] in KNOWN or ".".join(version.split(".")[:2]) in KNOWN,
            "python": platform.python_version(),
        }
        os.write(self._fd, (json.dumps(head) + "\n").encode())


class Doing(threading.local):
    """What this thread is in the middle of: autotuners, the innermost last, and whether a launch is a trial."""

    def __init__(self):
        self.tuners = []
        self.heuristics = []
        self.trial = None
        self.trial_kernels = set()


records = Records(os.environ.get("KERNCAP_TRITON_RECORDS", ""))
doing = Doing()
_said = set()


def complain(where, error):
    """Once for each place: to a person, and into the records."""
    text = f"{where}: {type(error).__name__}: {error}"
    if where in _said:
        return
    _said.add(where)
    try:
        os.write(2, f"kerncap: triton: {text}; the capture will lack it\n".encode("utf-8", "backslashreplace"))
        records.write("error", ("error", where), {"where": where, "message": text})
    except Exception:  # there is nobody left to tell
        pass


def guarded(where, call, *args):
    """The result, or None when it failed, which has been said."""
    try:
        return call(*args)
    except Exception as error:
        complain(where, error)
        return None


def _triton_version():
    return str(getattr(sys.modules.get("triton"), "__version__", "unknown"))


# --- the tool library -------------------------------------------------------------------------------------------------


def _tool():
    """The tool library, which the runtime has loaded or will; None where there is none."""
    path = os.environ.get("HSA_TOOLS_LIB", "")
    try:
        return ctypes.CDLL(path) if os.path.basename(path) == "libkerncap.so" else None
    except OSError:
        return None


def tell_trial(name, begins):
    library = _tool()
    if library is not None:
        getattr(library, "kerncap_trials_begin" if begins else "kerncap_trials_end")(name.encode())


# --- values as JSON ---------------------------------------------------------------------------------------------------


def encode(value):
    """Plain values as they are; others as an object that says what it was."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, (tuple, list)):
        return {"tuple" if isinstance(value, tuple) else "list": [encode(item) for item in value]}
    kind = type(value).__name__
    if kind == "constexpr":
        return {"constexpr": encode(value.value)}
    if kind == "dtype":
        return {"dtype": str(value)}
    if is_function(value):
        return {"function": [value.fn.__module__, value.fn.__qualname__]}
    return {"other": repr(value)[:200]}


def is_function(value):
    """Of Triton, compiled when it is called: a kernel, a helper, a function of constants."""
    return any(base.__name__ in ("JITCallable", "JITFunction") for base in type(value).__mro__)


def encode_argument(value):
    if not hasattr(value, "data_ptr"):
        return encode(value)
    stride = value.stride() if callable(getattr(value, "stride", None)) else ()
    offset = value.storage_offset() if callable(getattr(value, "storage_offset", None)) else 0
    return {
        "tensor": {
            "va": int(value.data_ptr()),
            "dtype": str(value.dtype),
            "shape": [int(n) for n in getattr(value, "shape", ())],
            "strides": [int(n) for n in stride],
            "offset": int(offset),
        }
    }


# --- kernels ----------------------------------------------------------------------------------------------------------


def record_kernel(kernel):
    """A compiled kernel, from the compiler or from Triton's cache."""
    code = kernel.asm["hsaco"]
    digest = "sha256:" + hashlib.sha256(code).hexdigest()
    kernel._kerncap_digest = digest
    source, metadata = kernel.src, kernel.metadata._asdict()
    document = {
        "hsaco": digest,
        "name": metadata["name"],
        "options": {key: encode(value) for key, value in metadata.items() if key != "target"},
        "target": {key: getattr(metadata["target"], key) for key in ("backend", "arch", "warp_size")},
    }
    function = getattr(source, "fn", None)
    if function is None:  # compiled from an intermediate representation
        document["function"] = None
    else:
        document.update(
            function=[function.fn.__module__, function.fn.__qualname__],
            arguments=list(function.arg_names),
            signature=[[key, encode(kind)] for key, kind in source.signature.items()],
            constants=[[list(_path(function, key)), encode(v)] for key, v in source.constants.items()],
            attributes=[[list(_path(function, key)), v] for key, v in source.attrs.items()],
        )
        guarded(f"the source of {metadata['name']}", record_source, function, set())
    records.write("kernel", ("kernel", digest), document)


def _path(function, key):
    if isinstance(key, str):
        return (function.arg_names.index(key),)
    return key if isinstance(key, tuple) else (key,)


def record_source(function, seen):
    """The module of a kernel and the values that it finds there, and the same of what it calls."""
    plain = function.fn
    if plain in seen:
        return
    seen.add(plain)
    record_module(plain.__module__)
    names = set(_names(plain))
    scope = dict(plain.__globals__)
    cells = [cell.cell_contents for cell in plain.__closure__ or ()]
    local = dict(zip(plain.__code__.co_freevars, cells))  # noqa: B905 (Python 3.9 has no strict)
    scope.update(local)
    values = {}
    for name in sorted(names & scope.keys()):
        value = scope[name]
        if is_function(value):
            record_source(value, seen)
        elif type(value).__name__ == "module":
            record_attributes(value, function, name, seen)
        values[name] = encode(value) if type(value).__name__ != "module" else {"module": value.__name__}
    document = {
        "module": plain.__module__,
        "name": plain.__qualname__,
        "file": plain.__code__.co_filename,
        "line": plain.__code__.co_firstlineno,
        "text": "".join(inspect.getsourcelines(plain)[0]),
        "values": values,
        "local": sorted(local),
    }
    records.write("function", ("function", plain.__module__, plain.__qualname__, document["text"]), document)


def _names(plain):
    """All names in the code of a function and of those inside it."""
    codes = [plain.__code__]
    while codes:
        code = codes.pop()
        yield from code.co_names
        yield from code.co_freevars
        codes += [constant for constant in code.co_consts if hasattr(constant, "co_code")]


def record_attributes(module, function, name, seen):
    """Functions and constants of another module of the user's, as `helpers.scale` in a kernel names them."""
    if not is_users(module.__name__):
        return
    record_module(module.__name__)
    values = {}
    for attribute in sorted(set(_names(function.fn))):
        value = getattr(module, attribute, None)
        if is_function(value):
            record_source(value, seen)
        if value is not None and not callable(value):
            values[attribute] = encode(value)
    records.write("values", ("values", module.__name__, tuple(values)), {"module": module.__name__, "values": values})


def is_users(name):
    return name.partition(".")[0] not in TOOLCHAIN and name.partition(".")[0] not in sys.stdlib_module_names


def record_module(name):
    """Its whole text, as it is now."""
    module = sys.modules.get(name)
    path = getattr(module, "__file__", None)
    if not path or not is_users(name):
        return
    with open(path, encoding="utf-8") as file:
        text = file.read(MOST_TEXT)
    document = {"name": name, "package": getattr(module, "__package__", None) or "", "file": path, "text": text}
    records.write("module", ("module", name), document)


# --- launches ---------------------------------------------------------------------------------------------------------


class Launcher:
    """Stands in for what launches a kernel: writes the launch down, then makes it."""

    def __init__(self, launcher, kernel):
        self._launcher = launcher
        self._kernel = kernel
        self._launches = 0

    def __getattr__(self, name):
        return getattr(self._launcher, name)

    def __call__(self, grid_x, grid_y, grid_z, stream, function, *rest):
        guarded("a launch", self._record, (grid_x, grid_y, grid_z), rest[4:])
        return self._launcher(grid_x, grid_y, grid_z, stream, function, *rest)

    def _record(self, grid, arguments):
        name = self._kernel.metadata.name
        if doing.trial is not None and name not in doing.trial_kernels:
            doing.trial_kernels.add(name)
            tell_trial(name, True)
        if self._launches >= MOST_LAUNCHES:
            return
        document = {
            "hsaco": self._kernel._kerncap_digest,
            "grid": [int(n) for n in grid],
            "arguments": [encode_argument(value) for value in arguments],
            "trial": doing.trial is not None,
        }
        tuner = doing.tuners[-1] if doing.tuners else None
        if doing.trial is not None:
            document["configuration"] = configuration(doing.trial)
        elif tuner is not None:
            document["tuning"] = record_tuning(tuner)
            document["configuration"] = configuration(tuner.best_config)
        if doing.heuristics:
            document["heuristics"] = sorted({name for names in doing.heuristics for name in names})
        if records.write("launch", ("launch", json.dumps(document, default=repr)), document):
            self._launches += 1


def configuration(config):
    whole = config.all_kwargs()
    return {key: encode(value) for key, value in sorted(whole.items())}


def record_tuning(tuner):
    """What was tried: the number of the record."""
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


# --- hooks ------------------------------------------------------------------------------------------------------------


def patch_compiler(module):
    kernel_class = module.CompiledKernel
    made, loaded = kernel_class.__init__, kernel_class._init_handles

    def __init__(self, *args, **kwargs):
        made(self, *args, **kwargs)
        if "hsaco" in self.asm:
            guarded("a compiled kernel", record_kernel, self)

    def _init_handles(self):
        # 3.4 keeps what launches as `run`, later releases as `_run`. It is there already from the second call on.
        loaded(self)
        for name in ("_run", "run"):
            launcher = self.__dict__.get(name)
            if launcher is not None and not isinstance(launcher, Launcher) and "_kerncap_digest" in self.__dict__:
                self.__dict__[name] = Launcher(launcher, self)

    kernel_class.__init__, kernel_class._init_handles = __init__, _init_handles


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


def patch_inductor(module):
    """torch.compile times the configurations of its kernels itself."""
    tuner_class = module.CachingAutotuner
    bench = tuner_class.bench

    def bench_noted(self, launcher, *args, **kwargs):
        before, doing.trial = doing.trial, getattr(launcher, "config", None) or launcher
        try:
            return bench(self, launcher, *args, **kwargs)
        finally:
            doing.trial = before
            if before is None:
                end_trials()

    tuner_class.bench = bench_noted


PATCHES = {
    "triton.compiler.compiler": patch_compiler,
    "triton.runtime.autotuner": patch_autotuner,
    "torch._inductor.runtime.triton_heuristics": patch_inductor,
}


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
            guarded(f"{name} of Triton {_triton_version()}", PATCHES[name], module)

        spec.loader.exec_module = exec_module
        return spec


def end_in_order():
    """os._exit runs no handlers, and multiprocessing ends its children so: the tool library ends its work before."""
    leave = os._exit

    def _exit(status):
        # Only where the runtime has loaded it: nothing is loaded just to end.
        if os.path.basename(os.environ.get("HSA_TOOLS_LIB", "")) == "libkerncap.so":
            guarded("the end of this process", _finish)
        leave(status)

    os._exit = _exit


def _finish():
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        loaded = os.environ["HSA_TOOLS_LIB"] in maps.read()
    library = _tool() if loaded else None
    if library is not None:
        library.kerncap_before_exit()


def install():
    sys.meta_path.insert(0, Finder())
    end_in_order()
