"""First contact: in a fresh clone, after `make run`, every command and block of the README works, in its order.

The clone has an environment with exactly what `make run` installs (documentation.environment). With KOMPONO_FRESH=1 the
same is done once more with packages that `make run` really installs, which takes the network and some minutes.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO
from urllib.request import urlopen

import pytest
from documentation.console import Command, commands, missing
from documentation.environment import checkout, extras_of_make_run, install, packages
from documentation.pages import ROOT, Block, blocks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, make and a shell")
README = [block for block in blocks("console", "python") if block.page == ROOT / "README.md"]
LONG = {"make check", "make test", "make docs"}  # what they do is what this suite does
CTRL_C = 3  # exit code of a run that was ended before its time
BEFORE_IT_RAN = 130  # of one that was still translated: a machine that has much else to do is given more time


@pytest.fixture(params=["linked", "installed"])
def clone(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A fresh clone, before `make run` (but with the packages that it would install)."""
    if request.param == "installed" and not os.environ.get("KOMPONO_FRESH"):
        pytest.skip("KOMPONO_FRESH=1 installs for real")
    project = checkout(tmp_path / "kompono")
    if request.param == "linked":
        install(project, extras_of_make_run())
    return project


@pytest.mark.takes(30)
def test_the_readme_from_top_to_bottom(clone: Path) -> None:
    user = User(clone)
    for block in README:
        if block.language == "python":
            user.run_python(block)
            continue
        for command in commands(block):
            user.run(command)
    assert user.done >= 7


def test_commands_in_the_text_exist() -> None:
    """Those between backticks, which may take long."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets, files, modules, examples = (
        set(re.findall(pattern, text))
        for pattern in (
            r"`make ([\w-]+)`",
            r"`python ([\w/]+\.py)`",
            r"`python -m ([\w.]+)`",
            r"`kompono \w+ (\S+\.py)`",
        )
    )
    assert not [target for target in targets if f"\n{target}:" not in makefile]
    assert not [file for file in files if not (ROOT / file).is_file()]
    assert not modules
    assert not examples
    assert targets == {"bench"}


class User:
    """Somebody at a shell in a clone; what is sourced (`. FILE`) holds for the commands after it."""

    def __init__(self, project: Path) -> None:
        self.project, self.sourced, self.done = project, "", 0
        left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME", "MAKEFLAGS")
        self.environment = {name: value for name, value in os.environ.items() if name not in left_out}
        self.environment |= {"MPLBACKEND": "Agg", "BROWSER": "true"}

    def run_python(self, block: Block) -> None:
        """Save a block and run it."""
        (self.project / "block.py").write_text(block.code)
        self.run(Command("python block.py", []))

    def run(self, command: Command) -> None:
        """Type one command, and Ctrl-C where it would go on."""
        line = re.sub(r"\s+#.*", "", command.line)
        if line.startswith(". "):
            assert (self.project / line[2:]).is_file(), line
            self.sourced += f"{line} && "
            return
        if line in LONG:
            line = line.replace("make", "make --dry-run")
        code, printed = self.type(line, 4.0)
        if code == BEFORE_IT_RAN:
            code, printed = self.type(line, 60.0)
        errors = (self.project / "errors.txt").read_text()
        expected = CTRL_C if "--until inf" in line else 0
        assert code == expected, f"{line}\n{printed}{errors}"
        assert "Traceback" not in errors, f"{line}\n{errors}"
        assert not missing(command, printed), line
        self.done += 1

    def type(self, line: str, patience: float) -> tuple[int, str]:
        """The exit code of a command and what it prints; one without end gets Ctrl-C after some time [s]."""
        process = self.start(line)
        try:
            printed = self.watch(line, process, patience)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, printed

    def start(self, line: str) -> subprocess.Popen[str]:
        """A command in a shell and a process group of its own."""
        with (self.project / "errors.txt").open("w") as errors:
            return subprocess.Popen(
                ["bash", "-c", f"{self.sourced}{line}"], cwd=self.project, env=self.environment, text=True,
                stdout=subprocess.PIPE, stderr=errors, start_new_session=True, preexec_fn=listen_to_ctrl_c,
            )  # fmt: skip

    def watch(self, line: str, process: subprocess.Popen[str], patience: float) -> str:
        """What a command prints until it ends; a page that is served is looked at, an endless run lasts some frames."""
        if "kompono view" in line and "--html" not in line:
            url = served(process.stdout)
            with urlopen(url, timeout=120) as page:
                assert b"right_mount" in page.read(), line
            os.killpg(process.pid, signal.SIGINT)
        elif "--until inf" in line:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=patience)  # it goes on
            os.killpg(process.pid, signal.SIGINT)
        return process.communicate(timeout=600)[0]


def listen_to_ctrl_c() -> None:
    """A suite that runs in the background ignores it, and its children would inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def served(output: IO[str] | None) -> str:
    """The address a viewer prints."""
    assert output is not None
    for line in output:
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise AssertionError("the viewer printed no address")


def test_the_environment_is_that_of_make_run() -> None:
    """The links are those of the extras, followed through, and no package of the tests is among them."""
    names = set(packages(extras_of_make_run()))
    assert {"numpy", "casadi", "matplotlib", "contourpy"} <= names
    assert not names & {"pytest", "hypothesis", "mkdocs", "distributed", "kompono"}
    assert set(packages({"plot"})) < names
