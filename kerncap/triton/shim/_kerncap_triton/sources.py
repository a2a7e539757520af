"""The text of kernels and of what they use: functions, values of names, whole modules of the user's."""

import ast
import inspect
import linecache
import os
import sys
import textwrap

from _kerncap_triton.records import guarded, records
from _kerncap_triton.values import encode, is_function

# Of a longer module the functions are carried like those of a notebook's cell.
MOST_TEXT = 4 << 20
# What a kernel's source leads to stops here, unless it lies elsewhere (modules that Inductor writes have torch's name).
TOOLCHAIN = ("triton", "torch", "numpy")
# These are not there where a kernel is compiled again: functions that it uses are carried without the rest.
HELPERS = ("torch._inductor.runtime.triton_helpers",)


# The lines of files as they were when Triton decorated a function of theirs.
_as_decorated = {}


def patch_functions(module):
    """Triton reads a function's text when it decorates it, and may read the file again later, when it is another."""
    made = module.JITFunction.__init__

    def __init__(self, fn, *args, **kwargs):
        made(self, fn, *args, **kwargs)
        guarded("a function", _remember, fn)

    module.JITFunction.__init__ = __init__


def _remember(fn):
    if fn.__module__.partition(".")[0] != "triton":
        path = fn.__code__.co_filename
        _as_decorated[path] = linecache.getlines(path, fn.__globals__)


def record_source(function, seen):
    """The module of a kernel and the values that it finds there, and the same of what it calls."""
    plain = function.fn
    if plain in seen:
        return
    named = (plain.__module__, plain.__qualname__)
    twice = "<locals>" in named[1] and any((one.__module__, one.__qualname__) == named for one in seen if callable(one))
    seen.add(plain)
    is_whole = record_module(plain.__module__, plain.__globals__)
    # As it was when it was decorated: the file may be another one by now.
    text = "".join(getattr(function, "raw_src", None) or inspect.getsourcelines(plain)[0])
    names = set(_names(plain)) | _names_of_decorators(text)
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
            record_attributes(value, function, seen)
        values[name] = encode(value) if type(value).__name__ != "module" else {"module": value.__name__}
    document = {
        "module": plain.__module__,
        "name": plain.__qualname__,
        "file": plain.__code__.co_filename,
        "line": plain.__code__.co_firstlineno,
        "text": text,
        "values": values,
        "local": sorted(local),
        "twice": twice,
        "apart": not is_whole and (is_apart(plain) or is_users(plain.__module__, plain.__globals__)),
    }
    # A factory makes functions of one name and text that closed over different values.
    records.write("function", ("function", *named), document, anew=True)


def _names(plain):
    """All names in the code of a function and of those inside it."""
    codes = [plain.__code__]
    while codes:
        code = codes.pop()
        yield from code.co_names
        yield from code.co_freevars
        codes += [constant for constant in code.co_consts if hasattr(constant, "co_code")]


def _names_of_decorators(text):
    """Those are in no code of the function."""
    try:
        tree = ast.parse(textwrap.dedent(text))
    except SyntaxError:
        return set()
    decorators = [one for statement in tree.body for one in getattr(statement, "decorator_list", ())]
    return {node.id for one in decorators for node in ast.walk(one) if isinstance(node, ast.Name)}


def is_apart(plain):
    """Its text is in no file of the user's: a cell of a notebook, what `exec` ran, a framework's helper.

    There is a text, since Triton asks for one.
    """
    if plain.__module__ in HELPERS:
        return True
    path = plain.__code__.co_filename
    of_module = getattr(sys.modules.get(plain.__module__), "__file__", None) or ""
    return not os.path.isfile(path) and os.path.basename(path) != os.path.basename(of_module)


def record_attributes(module, function, seen):
    """Functions and constants of another module of the user's, as `helpers.scale` in a kernel names them."""
    carried = is_users(module.__name__, vars(module)) or module.__name__ in HELPERS
    if not carried or (module.__name__, function.fn) in seen:
        return
    seen.add((module.__name__, function.fn))
    record_module(module.__name__, vars(module))
    values = {}
    for attribute in sorted(set(_names(function.fn))):
        value = getattr(module, attribute, None)
        if is_function(value):
            record_source(value, seen)
        if type(value).__name__ == "module":  # of a package: `package.helpers.scale`
            record_attributes(value, function, seen)
        elif value is not None and not callable(value):
            values[attribute] = encode(value)
    records.write("values", ("values", module.__name__, tuple(values)), {"module": module.__name__, "values": values})


def is_users(name, scope):
    top = name.partition(".")[0]
    if top not in TOOLCHAIN:
        return not is_of_python(top)
    path, package = scope.get("__file__"), getattr(sys.modules.get(top), "__file__", None)
    return bool(path and package) and not path.startswith(os.path.dirname(package) + os.sep)


def is_of_python(top):
    listed = getattr(sys, "stdlib_module_names", None)
    if listed is not None:
        return top in listed
    # Python 3.9 has no list: by its place.
    path = getattr(sys.modules.get(top), "__file__", None) or ""
    folder = os.path.dirname(path[: -len("/__init__.py")] if path.endswith("/__init__.py") else path)
    return top in sys.builtin_module_names or folder == os.path.dirname(os.__file__)


def record_module(name, scope):
    """Its whole text, as it was when Triton decorated the last one of its functions.

    False: there is none, or a longer one than is carried. `scope`: its names; a compile worker of Inductor's has no
    module of this name.
    """
    path = scope.get("__file__")
    if not path or not is_users(name, scope):
        return False
    # Reads what lies in an archive, and what is not in UTF-8, as Python did.
    text = "".join(_as_decorated.get(path) or linecache.getlines(path, scope))
    if not text or len(text) > MOST_TEXT:
        return False
    document = {"name": name, "package": scope.get("__package__") or "", "file": path, "text": text}
    records.write("module", ("module", name), document, anew=True)
    return True
