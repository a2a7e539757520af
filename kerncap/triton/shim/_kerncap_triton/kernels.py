"""What Triton compiled: signature, constants, options, by the digest of the code object."""

import hashlib
import os
import sys

from _kerncap_triton.launches import Launcher
from _kerncap_triton.records import guarded, records
from _kerncap_triton.sources import record_source
from _kerncap_triton.values import encode


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
        # Of a compile worker or a cache: it was not made in this process.
        if "hsaco" in self.asm and not isinstance(self.__dict__.get("_kerncap_here"), Here):
            guarded("a loaded kernel", record_kernel, self)
        for name in ("_run", "run"):
            launcher = self.__dict__.get(name)
            if launcher is not None and not isinstance(launcher, Launcher) and "_kerncap_digest" in self.__dict__:
                self.__dict__[name] = Launcher(launcher, self)

    kernel_class.__init__, kernel_class._init_handles = __init__, _init_handles


class Here:
    """That this process has the record; nothing of it stays with a kernel that is sent to another."""

    def __reduce__(self):
        return (int, ())


def record_kernel(kernel):
    """A compiled kernel, from the compiler or from Triton's cache."""
    code = kernel.asm["hsaco"]
    digest = "sha256:" + hashlib.sha256(code).hexdigest()
    kernel._kerncap_digest, kernel._kerncap_here = digest, Here()
    source, metadata = kernel.src, kernel.metadata._asdict()
    document = {
        "hsaco": digest,
        "name": metadata["name"],
        "options": {key: encode_option(key, value) for key, value in metadata.items() if key != "target"},
        "target": {key: getattr(metadata["target"], key) for key in ("backend", "arch", "warp_size")},
    }
    if allows_plain_globals():  # of Triton's switches the only one that it does not keep with what it compiled
        document["options"]["TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"] = "1"
    function = getattr(source, "fn", None)
    if function is None:  # compiled from an intermediate representation
        document["function"] = None
    else:
        named = function.fn or function  # a compile worker keeps the function for itself
        document.update(
            function=[named.__module__, named.__qualname__],
            arguments=list(function.arg_names),
            signature=[[key, encode(kind)] for key, kind in source.signature.items()],
            constants=[[list(_path(function, key)), encode(v)] for key, v in source.constants.items()],
            attributes=[[list(_path(function, key)), v] for key, v in source.attrs.items()],
        )
        if function.fn is not None:
            guarded(f"the source of {metadata['name']}", record_source, function, set())
    records.write("kernel", ("kernel", digest), document)


def allows_plain_globals():
    knobs = getattr(sys.modules["triton"], "knobs", None)
    return bool(getattr(getattr(knobs, "compilation", None), "allow_non_constexpr_globals", False))


def encode_option(name, value):
    """Of Triton's own device libraries only their place in Triton: where it is installed is nobody's business."""
    if name != "extern_libs":
        return encode(value)
    installed = os.path.dirname(os.path.abspath(sys.modules["triton"].__file__)) + os.sep
    pairs = value.items() if hasattr(value, "items") else value or ()
    return encode([[key, path[len(installed) :] if path.startswith(installed) else path] for key, path in pairs])


def _path(function, key):
    if isinstance(key, str):
        return (function.arg_names.index(key),)
    return key if isinstance(key, tuple) else (key,)
