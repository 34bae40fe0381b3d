"""`kompono run --ranks`: what is refused before any process is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from kompono.edges.cli import main

MODEL = f"{Path(__file__).parent / 'machines.py'}:Tree"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--place", "stem=1"], "Use it with --ranks"),
        (["--ranks", "-2"], "no number of processes"),
    ],
)
def test_wrong_requests(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", MODEL, "--until", "0.01", *words]) == 1
    assert said in capsys.readouterr().err
