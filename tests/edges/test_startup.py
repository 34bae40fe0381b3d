"""Commands import what they need: to say a version takes no mathematics, and a run from the cache no translator."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib import import_module

from kompono.edges import cli

HEAVY = ("numpy", "casadi", "scipy", "llvmlite", "h5py", "pandas")
TRACING = (
    "tracer",
    "motion.kinematics",
    "motion.loads",
    "elimination.blocks",
    "engines.channels",
    "rank.probe",
    "slopes",
)
WRITING = ("machine", "loops", "loop_fixed", "loop_map", "split", "sweeps", "closed", "stage_matrix")


def loaded(code: str) -> set[str]:
    """Which heavy modules a new process has after running some code."""
    told = f"import sys\n{code}\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", told], check=True, capture_output=True, text=True)
    return set(answer.stdout.splitlines()[-1].split())


def test_the_version_needs_no_mathematics() -> None:
    asked = "from kompono.edges.cli import main\ntry:\n    main(['--version'])\nexcept SystemExit:\n    pass"
    assert loaded(asked) == set()
    assert loaded("import kompono") == set()


def test_a_model_is_declared_without_compiler_and_scipy() -> None:
    assert loaded("from kompono import Body, Subsystem, time") == {"numpy", "casadi"}


def test_a_run_with_loops_needs_no_scipy() -> None:
    run = "from kompono.examples.car import Car\nfrom kompono import simulate\nsimulate(Car(), until=0.01)"
    assert "scipy" not in loaded(run)


def test_commands_are_where_the_command_line_looks_for_them() -> None:
    found = {}
    for module in dict.fromkeys(cli.COMMANDS.values()):
        commands = argparse.ArgumentParser().add_subparsers()
        import_module(f"kompono.edges.cli.{module}").add_command(commands)
        found |= dict.fromkeys(commands.choices, module)
    assert found == cli.COMMANDS


def test_a_run_from_the_cache_imports_nothing_that_traces_or_writes_code() -> None:
    run = "import sys; from kompono.edges.cli import main; main(['run', 'car.py', '--quiet']); print(*sys.modules)"

    def again() -> set[str]:
        answer = subprocess.run([sys.executable, "-c", run], check=True, capture_output=True, text=True)
        return set(answer.stdout.splitlines()[-1].split())

    first, second = again(), again()
    ours = {name for name in second if name.startswith("kompono")}
    assert ours <= first
    assert not second & {"scipy", "numpy.random", "numpy.ma", "importlib.metadata", "kompono.files"}
    assert not ours & {f"kompono.translate.{name}" for name in TRACING}
    assert not ours & {f"kompono.compile.{name}" for name in WRITING}
    assert len(ours) <= 255  # each takes some 0.3 ms; there were 476
