"""Every public constructor, every option of every request and random command lines, with values that do not belong
there: a KomponoError that says where, in which line and what to try, a result, or an exit code that is documented.

`KOMPONO_FUZZ=600` goes on for ten minutes; each test takes its share of the time.
"""

from __future__ import annotations

import os
import re
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from fuzz.asked import FILES as KEPT
from fuzz.asked import requests
from fuzz.callables import Case, cases, uncovered
from fuzz.command_lines import FILES, Writer
from fuzz.wrong_values import WRONG

from kompono import KomponoError
from kompono.edges.cli import main
from kompono.request import OPTIONS

SECONDS = float(os.environ.get("KOMPONO_FUZZ", "12")) / 12
PATIENCE = 20  # s that a request may take
EXITS = {0, 1, 2, 3}  # of commands that nobody interrupts


class TooLong(BaseException):
    """A request that does not end."""


@contextmanager
def patience() -> Iterator[None]:
    """End what takes too long, where the system can."""

    def end(*_: Any) -> None:
        raise TooLong

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_every_option_of_a_run_is_met() -> None:
    met = {name for case in requests() if case.name in ("simulate", "Simulation") for name in case.arguments()}
    assert set(OPTIONS) - KEPT <= met


def judge(case: Case, argument: str, kind: str) -> str:
    """What is wrong with the answer to a wrong value, or nothing."""
    what = f"{case.name}({argument}=<{kind}>)"
    try:
        with warnings.catch_warnings(), patience():
            warnings.simplefilter("ignore")
            case.call(**{argument: WRONG[kind]()})
    except KomponoError as error:
        if not error.path:
            return f"{what}: nobody is named: {error}"
        if not error.fix:
            return f"{what}: no fix: {error}"
        if not error.named and not re.search(r"line \d+\)$", str(error)):
            return f"{what}: no line: {error}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{what}: {type(error).__name__}: {str(error)[:200]}"
    return ""


def failures(asked: list[Case], seconds: float, seed: int) -> list[str]:
    """Wrong values in the places of right ones, in an order by a seed, until the time is over."""
    places = [(case, argument, kind) for case in asked for argument in case.arguments() for kind in WRONG]
    found, begun = [], perf_counter()
    for k, i in enumerate(np.random.default_rng(seed).permutation(len(places))):
        if perf_counter() - begun > seconds and k > 200:
            break
        found += [answer for answer in [judge(*places[i])] if answer]
    return found


def test_every_public_constructor_is_asked() -> None:
    assert not uncovered()


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_what_is_right_is_taken(case: Case) -> None:
    if case.name == "shapes.mesh":
        pytest.skip("there is no file")
    case.call()


@pytest.mark.parametrize("case", requests(), ids=lambda case: case.name)
def test_requests_that_are_right_are_met(case: Case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.call()


def test_constructors_refuse_wrong_values_in_words() -> None:
    found = failures(cases(), 2 * SECONDS, 12)
    assert not found, "\n".join(found[:20])


def test_requests_refuse_wrong_values_in_words() -> None:
    found = failures(requests(), 3 * SECONDS, 13)
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("case", [c for c in (*cases(), *requests()) if c.name[0].isupper() and "[" not in c.name][:40],
                         ids=lambda case: case.name)  # fmt: skip
def test_calls_with_other_arguments(case: Case) -> None:
    if type(case.make).__name__ != "Declared":
        pytest.skip("a function of Python")
    with pytest.raises(
        KomponoError, match=r"no argument 'no_such'|start value|takes|no parameter, input or state"
    ) as caught:
        case.call(no_such=1.0)
    assert caught.value.path
    assert caught.value.fix


def test_command_lines_end_with_a_documented_code(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    writer, begun, tried, found = Writer(tmp_path, 14), perf_counter(), 0, []
    while perf_counter() - begun < 3 * SECONDS or tried < 20:
        line = writer.line()
        tried += 1
        try:
            with patience():
                code: Any = main(line)
        except SystemExit as error:  # argparse: usage, help
            code = 2 if isinstance(error.code, str) else error.code or 0
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            found.append(f"{line}: {type(error).__name__}: {error}")
            continue
        told = capsys.readouterr()
        if code not in EXITS:
            found.append(f"{line}: exit code {code}")
        if "Traceback" in told.err + told.out:
            found.append(f"{line}: {told.err[-500:]}")
        if code and not told.err.strip():
            found.append(f"{line}: exit code {code} without a word")
    assert not found, f"{tried} lines\n" + "\n".join(found[:10])
