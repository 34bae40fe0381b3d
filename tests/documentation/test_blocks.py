"""Documentation is executed: every `python` block of the README and of docs/ runs, in an empty folder.

A block runs on its own, as a reader may copy it; only pages of the tutorial are one session each, from top to bottom.
Blocks that show other simulators (the extra `bench`) run where these are installed.
"""

from __future__ import annotations

import ast
import re
import tomllib
from itertools import groupby
from pathlib import Path

import pytest
from documentation.pages import ROOT, Block, blocks

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PEERS = {"pinocchio"} | {re.split(r"[^\w-]", package)[0] for package in EXTRAS["bench"]}
TUTORIAL = ROOT / "docs" / "tutorial"


def sessions() -> list:
    """What is run together: single blocks, and the pages of the tutorial."""
    together = groupby(blocks("python"), lambda block: block.page if block.page.parent == TUTORIAL else block.name)
    return [pytest.param(group, id=group[0].name) for group in (list(found) for _, found in together)]


def imported(code: str) -> set[str]:
    """The packages a block imports."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("session", sessions())
def test_blocks_run(session: list[Block], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / ".config"))
    space = {"__name__": "__main__"}
    for block in session:
        for peer in sorted(imported(block.code) & PEERS):
            pytest.importorskip(peer)
        exec(compile("\n" * block.line + block.code, str(block.page), "exec"), space)


def test_every_block_names_its_language() -> None:
    """A block without a language would be neither run nor recognized as something else."""
    assert not [block.name for block in blocks() if not block.language]
