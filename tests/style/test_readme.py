"""Documentation is executed: every `python` block of README.md and docs/*.md runs, in an empty folder.

Blocks of one file run on their own; a block that needs an earlier one must repeat it, as a reader would have to.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks() -> list:
    """One case per block, named by file and line."""
    cases = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start(1))
            cases.append(pytest.param(path, line, match[1], id=f"{path.name}:{line}"))
    return cases


@pytest.mark.parametrize(("path", "line", "code"), blocks())
def test_a_block_runs(path: Path, line: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT / "examples"), *sys.path])
    if "matplotlib" in code:
        monkeypatch.setenv("MPLBACKEND", "Agg")
    exec(compile("\n" * line + code, str(path), "exec"), {"__name__": "__main__"})
