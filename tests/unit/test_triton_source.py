"""What is cut out of a module for a kernel: names that are bound in less common ways, what is left out."""

from __future__ import annotations

from typing import Any

import pytest
from crafted_records import loads, records

from kerncap.errors import CompileError
from kerncap.triton.source import source_files


def kept_of(text: str, **values: Any) -> str:
    return source_files(records({"m": text}, ("m", "k"), {"m": values}))[0]["src/kernel_variant.py"]


def test_a_name_that_is_bound_more_than_once_has_all_that_binds_it() -> None:
    kernel = "@triton.jit\ndef k(x):\n    A\n"
    main = kept_of(f"import triton\nA = 1\nB = 2\nA += B\n{kernel}k = triton.jit(k)\n")
    places = [main.index(part) for part in ("A = 1", "B = 2", "A += B", "def k", "k = triton.jit(k)")]
    assert places == sorted(places)
    main = kept_of(
        f"import triton\nA = 1\n{kernel}for A in range(3):\n    k[A]()\nif __name__ == '__main__':\n    k = 3\n"
    )
    assert "A = 1" in main
    assert "for A" not in main
    assert "k = 3" not in main


def test_what_binds_a_name_by_the_way_is_not_run() -> None:
    kernel = "@triton.jit\ndef k(x):\n    f(A)\n"
    first = "import sys\nimport triton\nA = 1\n@triton.jit\ndef f(x):\n    pass\n"
    main = kept_of(f"{first}{kernel}if sys.argv[1:]:\n    import triton.testing\n    A = 2\n    from lost import a\n")
    assert "\n@triton.jit\ndef k" in main
    assert "sys" not in main
    main = kept_of(f"{first}if sys.version:\n    @triton.jit\n    def f(x):\n        return 2\n{kernel}")
    assert "if sys.version:" in main  # another definition is one


def test_a_constant_made_of_what_a_module_computed_has_its_value() -> None:
    text = "import os\nimport triton\nA = os.environ['A']\nB = tl.constexpr(A)\n@triton.jit\ndef k(x):\n    B\n"
    main = kept_of(text, B={"constexpr": 3})
    assert "B = tl.constexpr(3)" in main
    assert "environ" not in main


@pytest.mark.parametrize("separator", ["\f\n", '"""\x1c \u2028"""\n', "X = '\u2029'\n"])
def test_lines_are_those_of_python(separator: str) -> None:
    main = kept_of(f"import triton\n{separator}@triton.jit\ndef k(x):\n    pass\ndef after(x):\n    pass\n")
    assert loads(main) == {"k"}


def test_statements_that_share_a_line_are_told_apart() -> None:
    main = kept_of("import triton; import os; A = 2; C = os.getcwd()\n@triton.jit\ndef k(x):\n    A\n")
    assert "A = 2" in main
    assert "os" not in main


def test_functions_given_as_constants_are_carried() -> None:
    found = records({"m": "import triton\n@triton.jit\ndef k(F):\n    pass\n", "n": ""}, ("m", "k"))
    found.kernel["constants"] = [[[0], {"tuple": [{"function": ["n", "scale"]}]}]]
    found.modules["n"]["text"] = "import triton\n@triton.jit\ndef scale(v):\n    return v\n"
    assert "def scale" in source_files(found)[0]["src/n.py"]


def test_a_kernel_of_a_class_is_named_with_it() -> None:
    text = "import triton\nclass C:\n    @staticmethod\n    @triton.jit\n    def k(x):\n        pass\n"
    files, entry = source_files(records({"m": text}, ("m", "C.k")))
    assert entry == "C.k"
    assert "class C" in files["src/kernel_variant.py"]


def test_decorators_that_are_not_there_are_left_out() -> None:
    kernel = "@register('a')\n@triton.autotune(configs=tuned(), key=[])\n@triton.jit\ndef k(x):\n    pass\n"
    head = "import triton\nfrom elsewhere import register\nimport torch\ndef tuned():\n    return torch.cuda\n"
    main = kept_of(head + kernel)
    assert "# Left out, the application's: @register" in main
    assert "# Left out, the application's: @triton.autotune" in main
    assert "\n@triton.jit\ndef k" in main
    assert "torch" not in main.replace("# Left", "")


def test_what_an_unrecorded_module_gave_is_taken_by_its_value() -> None:
    text = "from vendor import triton, tl, SIZE\n@triton.jit\ndef k(x):\n    tl.load(x) + SIZE\n"
    values = {"triton": {"module": "triton"}, "tl": {"module": "triton.language"}, "SIZE": {"constexpr": 3}}
    main = kept_of(text, **values)
    assert "import triton as triton" in main
    assert "import triton.language as tl" in main
    assert "SIZE = tl.constexpr(3)" in main
    assert "vendor" not in main


def test_two_functions_that_closed_over_different_values_are_refused() -> None:
    inner = "    @triton.jit\n    def f(x):\n        return x * by\n"
    found = records({"m": "import triton\n"}, ("m", "make.<locals>.f"), text=inner, local=["by"], twice=True)
    with pytest.raises(CompileError, match="two functions"):
        source_files(found)
