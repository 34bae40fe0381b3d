"""The command lines of the documentation work, and say what the pages say they do.

In a `console` block, lines that start with `$ ` are commands, the others are lines of their output: they appear in this
order (others may stand between them), and `...` in a line stands for anything. `kompono` is run in an empty folder. Of
commands that go on until Ctrl-C, in real time or on other processes the options are checked, of anything that takes
long (`make`, figures, installations) that it exists. The README has a test of its own, as its reader
(test_first_contact).
"""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
from documentation.console import commands, missing
from documentation.pages import ROOT, Block, blocks
from documentation.test_blocks import EXTRAS

from kompono.edges.cli import _parser, main

Capture = pytest.CaptureFixture[str]


CASES = [pytest.param(block, id=block.name) for block in blocks("console") if block.page.name != "README.md"]


@pytest.mark.parametrize("block", CASES)
def test_commands_work(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / ".config"))
    for command in commands(block):
        assert run(shlex.split(command.line, comments=True)) == 0, command.line
        assert not missing(command, capsys.readouterr().out), command.line


def goes_on(words: list[str]) -> bool:
    """Whether a command waits for people, clocks or other processes."""
    return (
        words[0] == "serve"
        or (words[0] == "view" and "--html" not in words)
        or bool({"--view", "--realtime", "--ranks"} & set(words))
    )


def run(words: list[str]) -> int:
    """The exit code of a command that is run, 0 for one that exists."""
    match words:
        case ["kompono", *rest] | ["mpiexec", "-n", _, "kompono", *rest] if goes_on(rest):
            return _parser().parse_args(rest) is None
        case ["kompono", *rest]:
            return main(rest)
        case ["make", *targets]:
            return any(f"\n{target}:" not in (ROOT / "Makefile").read_text(encoding="utf-8") for target in targets)
        case ["pip", "install", *_, package]:
            return not set(re.findall(r"\w+", package.partition("[")[2])) <= set(EXTRAS)
        case ["python", "-m", module, *_]:
            return find_spec(module) is None
        case ["python", file, *_]:
            return not (ROOT / file).is_file()
    raise AssertionError(f"{' '.join(words)}: no such command in the documentation")
