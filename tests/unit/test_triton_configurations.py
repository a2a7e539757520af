"""Other configurations of a tuned kernel: what each changes, which one a person means; the launch of a variant."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_triton_records import DIGEST, pinned

from kerncap.bundle import Bundle, open_bundle
from kerncap.errors import BundleError, CompileError, UsageError
from kerncap.triton.configurations import choose, with_changes
from kerncap.triton.records import Records
from kerncap.workflows import recompile as workflow
from kerncap.workflows.variant import SUFFIX, launch_of

OTHER, LATER = "sha256:" + "2" * 64, "sha256:" + "3" * 64
TENSOR = {"va": 9999, "dtype": "torch.float32", "shape": [4, 8], "strides": [8, 1], "offset": 0}


def kernel(digest: str, block: int, warps: int, **more: Any) -> dict[str, Any]:
    document = pinned()
    return {
        "hsaco": digest,
        "function": document["function"],
        "signature": document["signature"],
        "constants": [[[2], block], [[3], {"constexpr": block == 64}]],
        "options": {"num_warps": warps, "num_stages": 3, "shared": block * 8, "hash": digest},
        **more,
    }


def trial(digest: str, configuration: dict[str, Any], grid: list[int], n: int = 32, **tensor: Any) -> dict[str, Any]:
    arguments = [{"tensor": {**TENSOR, **tensor}}, n, configuration["B"], True]
    return {"hsaco": digest, "trial": True, "configuration": configuration, "grid": grid, "arguments": arguments}


def records(*trials: dict[str, Any], **more: Any) -> Records:
    kernels = {DIGEST: kernel(DIGEST, 64, 2), OTHER: kernel(OTHER, 128, 4, **more)}
    return Records({}, kernels[DIGEST], (), kernels, trials, {}, {}, {}, {}, ())


def document(*trials: dict[str, Any], **more: Any) -> dict[str, Any]:
    made = pinned()
    made["launch"]["tried"] = with_changes(records(*trials, **more), made["launch"])
    return made


WIDE = {"B": 128, "num_warps": 4}


def test_a_trial_tells_what_its_configuration_changes() -> None:
    found = document(trial(OTHER, WIDE, [4, 2, 1]))["launch"]["tried"]
    assert [one["change"] for one in found] == [
        {"grid": [4, 2, 1], "constants": [[[2], 128], [[3], {"constexpr": False}]], "options": {"num_warps": 4}},
        None,
        None,
    ]


@pytest.mark.parametrize(
    "other",
    [
        trial(OTHER, WIDE, [4, 2, 1], n=33),
        trial(OTHER, WIDE, [4, 2, 1], shape=[8, 8]),
        trial(DIGEST, {"B": 256, "num_warps": 4}, [4, 2, 1]),
    ],
)
def test_a_launch_with_other_arguments_tells_nothing(other: dict[str, Any]) -> None:
    assert [one["change"] for one in document(other)["launch"]["tried"]] == [None] * 3


def test_a_kernel_that_was_specialised_otherwise_tells_nothing() -> None:
    signature = [["x", "*fp32"], ["n", "constexpr"], ["B", "constexpr"], ["flag", "constexpr"]]
    made = document(trial(OTHER, WIDE, [4, 2, 1]), signature=signature)
    assert [one["change"] for one in made["launch"]["tried"]] == [None] * 3


@pytest.mark.parametrize("text", ["2", " 2 ", "B=128", "num_warps=4", "B=128,num_warps=4", "B = 128, num_warps = 4"])
def test_a_configuration_that_was_tried(text: str) -> None:
    """By its place among the fastest, or by values: with the grid that the application gave it."""
    before = document(trial(OTHER, WIDE, [4, 2, 1]))
    kept = copy.deepcopy(before)
    made = choose(before, text)
    assert before == kept
    assert made["constants"] == [[[2], 128], [[3], {"constexpr": False}]]
    assert (made["options"]["num_warps"], made["options"]["num_stages"]) == (4, 3)
    assert (made["launch"]["grid"], made["launch"]["configuration"]) == ([4, 2, 1], WIDE)


def test_a_grid_of_ones_own_counts() -> None:
    made = choose(document(trial(OTHER, WIDE, [4, 2, 1])), "2", (9, 1, 1))
    assert made["launch"]["grid"] == [9, 1, 1]


def test_a_configuration_that_was_never_tried() -> None:
    made = choose(document(), "B=16,num_warps=1,flag=False", (28, 2, 1))
    assert made["constants"] == [[[2], 16], [[3], False]]
    assert (made["options"]["num_warps"], made["launch"]["grid"]) == (1, [28, 2, 1])


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("B=16", "usage.config-grid", "is not known"),
        ("3", "usage.config-grid", "is not known"),  # tried, but not seen
        ("0", "usage.config", "3 configurations were tried"),
        ("4", "usage.config", "3 configurations were tried"),
        ("BM=16", "usage.config", "no constant and no option 'BM', but B, flag, num_warps, num_stages"),
        ("x=16", "usage.config", "no constant and no option 'x'"),
        ("B", "usage.config", "no NAME=VALUE"),
        ("", "usage.config", "no NAME=VALUE"),
        ("B=16,", "usage.config", "no NAME=VALUE"),
        ("B=16,B=32", "usage.config", "B is given twice"),
        ("shared=3", "usage.config", "no constant and no option 'shared'"),  # a compilation gives it
        ("arch='gfx90a'", "usage.config", "no constant and no option 'arch'"),
        ("B=[1]", "usage.config", "no NAME=VALUE"),
        ("B=__import__('os')", "usage.config", "no NAME=VALUE"),
        ("B=" + "(" * 5000, "usage.config", "no NAME=VALUE"),
    ],
)
def test_what_is_no_configuration(text: str, code: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        choose(document(), text)
    assert error.value.code == code
    assert said in error.value.message


def test_values_of_several_configurations_name_none() -> None:
    made = pinned()
    made["launch"]["tried"].append({"configuration": {"B": 128, "num_warps": 8}, "ms": None, "change": None})
    with pytest.raises(UsageError) as error:
        choose(made, "B=128")
    assert "is true of 2 configurations" in error.value.message


def test_without_tuning_there_is_nothing_to_count() -> None:
    made = pinned()
    made["launch"] |= {"tried": [], "configuration": None}
    with pytest.raises(UsageError) as error:
        choose(made, "1")
    assert "no configuration is known" in error.value.message
    assert choose(made, "B=32", (1, 1, 1))["launch"]["configuration"] == {"B": 32}


@pytest.fixture
def bundle(reproducer: Path) -> Bundle:
    return open_bundle(str(reproducer))


def code_with_launch(folder: Path, bundle: Bundle, **changes: Any) -> Path:
    """A code object whose file says that it is launched as the captured one, but for the changes."""
    code, dispatch = folder / "v.hsaco", bundle.capture.dispatch
    code.write_bytes(b"\x7fELF variant")
    own = {
        "schema": "kerncap.launch/1",
        "code_object": "sha256:" + hashlib.sha256(code.read_bytes()).hexdigest(),
        "grid": list(dispatch.grid),
        "workgroup": list(dispatch.workgroup),
        "dynamic_group_segment_bytes": dispatch.group_segment_bytes,
    }
    (folder / f"v.hsaco{SUFFIX}").write_text(json.dumps(own | changes))
    return code


def test_the_captured_launch_is_nothing_of_its_own(bundle: Bundle, tmp_path: Path) -> None:
    assert launch_of(code_with_launch(tmp_path, bundle), bundle.capture) == (None, None)
    (tmp_path / f"v.hsaco{SUFFIX}").unlink()
    assert launch_of(tmp_path / "v.hsaco", bundle.capture) == (None, None)


def test_another_launch_is_taken_and_said(bundle: Bundle, tmp_path: Path) -> None:
    code = code_with_launch(tmp_path, bundle, grid=[256, 3, 1], workgroup=[128, 1, 1], dynamic_group_segment_bytes=512)
    launch, said = launch_of(code, bundle.capture)
    assert launch is not None
    assert (launch.grid, launch.workgroup, launch.dynamic_group_segment_bytes) == ((256, 3, 1), (128, 1, 1), 512)
    assert (said or "").startswith("launched as 2x3 workgroups of 128, 512 bytes of LDS; captured ")
    text = (tmp_path / f"v.hsaco{SUFFIX}").read_text()
    (tmp_path / f"v.hsaco{SUFFIX}").unlink()
    assert launch_of(code, bundle.capture, text) == (launch, said)


def test_a_launch_of_another_code_object_is_left_out(
    bundle: Bundle, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = code_with_launch(tmp_path, bundle, code_object=OTHER, grid=[1, 1, 1])
    with caplog.at_level(logging.WARNING):
        assert launch_of(code, bundle.capture) == (None, None)
    assert "is of another code object" in caplog.text


@pytest.mark.parametrize(
    "changes",
    [
        {"grid": [0, 1, 1]},
        {"grid": [1, 1]},
        {"workgroup": [65536, 1, 1]},
        {"dynamic_group_segment_bytes": -1},
        {"dynamic_group_segment_bytes": 1 << 40},
        {"schema": "kerncap.launch/2"},
        {"grid": [1.5, 1, 1]},
    ],
)
def test_a_strangers_launch_is_checked(bundle: Bundle, tmp_path: Path, changes: dict[str, Any]) -> None:
    code = code_with_launch(tmp_path, bundle, **changes)
    with pytest.raises(BundleError):
        launch_of(code, bundle.capture)


def test_a_launch_file_that_is_no_file(bundle: Bundle, tmp_path: Path) -> None:
    code = code_with_launch(tmp_path, bundle)
    (tmp_path / f"v.hsaco{SUFFIX}").unlink()
    (tmp_path / f"v.hsaco{SUFFIX}").symlink_to("/dev/zero")
    with pytest.raises(BundleError):
        launch_of(code, bundle.capture)


def test_a_sequence_has_the_captured_launch_only(bundle: Bundle, tmp_path: Path) -> None:
    code = code_with_launch(tmp_path, bundle, grid=[1, 1, 1])
    capture = replace(bundle.capture, sequence=object())  # type: ignore[arg-type]
    with pytest.raises(UsageError) as error:
        launch_of(code, capture)
    assert error.value.code == "usage.launch-of-sequence"


def test_what_a_strangers_source_made_is_measured_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(folder: Path, document: Any, script: str, output: Path, **_: Any) -> str:
        output.touch()
        os.truncate(output, 1 << 29)
        Path(f"{output}{SUFFIX}").write_text("what is read second")
        return "3.6.0"

    monkeypatch.setattr(workflow.triton, "recompile", made)
    pinned = {"triton": "3.6.0", "main": "src/kernel_variant.py"}
    with pytest.raises(CompileError) as error:
        workflow._recompile_triton(tmp_path, pinned, tmp_path / "out.hsaco", "k", 1, None)
    assert error.value.code == "compile.too-big"
    assert not (tmp_path / "out.hsaco").exists()
