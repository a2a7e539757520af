"""Every error code of the transport stands in its table, and none that no longer exists."""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_CODE = re.compile(r'"(transport\.[a-z-]+)"')


def test_the_table_of_error_codes_is_whole() -> None:
    raised = {code for path in (_ROOT / "kerncap").rglob("*.py") for code in _CODE.findall(path.read_text("utf-8"))}
    table = (_ROOT / "docs" / "transport.md").read_text("utf-8").partition("## Errors")[2].partition("## ")[0]
    listed = re.findall(r"^\| `(transport\.[a-z-]+)`", table, re.MULTILINE)
    assert sorted(listed) == sorted(raised)
