"""How two listings of a kernel are compared."""

from __future__ import annotations

from pathlib import Path

from kerncap.workflows.assembly_diff import assembly_diff
from kerncap.workflows.code import CodeFacts, facts_from


def facts(*instructions: str | tuple[str, int]) -> CodeFacts:
    """Each of 4 bytes; a branch is its mnemonic and the place that it leads to."""
    lines = []
    for place, one in enumerate(instructions):
        text = one if isinstance(one, str) else f"{one[0]} {(one[1] - place - 1) & 0xFFFF}"
        lines.append({"offset": 4 * place, "group": "valu", "text": text})
        if not isinstance(one, str):
            lines[-1]["to"] = 4 * one[1]
    return facts_from({"target": "gfx942", "wave_size": 64, "resources": None, "instructions": lines})


def diff(before: CodeFacts, after: CodeFacts, scratch: Path, context: int = 3) -> list[str]:
    return assembly_diff(before, after, scratch, context)


def test_the_same_code_has_no_difference(tmp_path: Path) -> None:
    one = facts("v_a", ("s_cbranch_scc1", 0), "s_endpgm")
    assert diff(one, one, tmp_path) == []


def test_code_that_only_moved_is_the_same(tmp_path: Path) -> None:
    """The branch's distance is another one; where it leads is not."""
    before = facts("v_a", "v_b", ("s_cbranch_scc1", 0), ("s_branch", 5), "v_c", "s_endpgm")
    after = facts("v_a", "v_new", "v_b", ("s_cbranch_scc1", 0), ("s_branch", 6), "v_c", "s_endpgm")
    assert diff(before, after, tmp_path) == [
        "@@ -1,4 +1,5 @@",
        " L1:   v_a",
        "+      v_new",
        "       v_b",
        "       s_cbranch_scc1 L1",
        "       s_branch L2",
    ]


def test_a_branch_that_leads_elsewhere(tmp_path: Path) -> None:
    before = facts("v_a", "v_b", ("s_cbranch_scc1", 0), "s_endpgm")
    after = facts("v_a", "v_b", ("s_cbranch_scc1", 1), "s_endpgm")
    lines = diff(before, after, tmp_path, context=0)
    assert lines == ["@@ -3,1 +3,1 @@", "-      s_cbranch_scc1 L1", "+      s_cbranch_scc1 N1"]


def test_hunks_count_their_lines(tmp_path: Path) -> None:
    before = facts(*(f"v_{i}" for i in range(40)))
    after = facts("v_0", "v_first", *(f"v_{i}" for i in range(1, 30)), *(f"v_{i}" for i in range(31, 40)))
    heads = [line for line in diff(before, after, tmp_path) if line.startswith("@@")]
    assert heads == ["@@ -1,4 +1,5 @@", "@@ -28,7 +29,6 @@"]
