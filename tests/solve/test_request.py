"""Every option of a run stands once, and engines and methods are known by their entries alone."""

from __future__ import annotations

import ast
import dataclasses
import inspect as python
import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from solve.machines import Pendulum

from kompono import RunError, Simulation, evaluate, simulate, simulate_many
from kompono.edges.cli import main
from kompono.request import DECLARED, KEPT, OF_CONCERN, OPTIONS, Concern, Request
from kompono.solve.methods import METHODS, Family, Method
from kompono.solve.settings import check_method, settings_of
from kompono.translate.engines.engine import Engine
from kompono.translate.engines.registry import ENGINES, EngineEntry, EngineOption, Feature, check_options, engine_named

PACKAGE = Path(__file__).parents[2] / "kompono"
DOORS = {  # with their arguments that are no options of a run
    simulate: {"model"},
    Simulation.__init__: {"self", "model"},
    Simulation.run: {"self", "settings", "request"},
    evaluate: {"model", "at", "time", "options"},
    simulate_many: {"model", "runs", "lanes", "client", "options"},
}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__qualname__)
def test_doors_take_options_by_the_names_and_defaults_of_a_request(door: Any) -> None:
    taken = {name: p.default for name, p in python.signature(door).parameters.items() if name not in DOORS[door]}
    assert set(taken) <= set(OPTIONS)
    defaults = {f.name: f.default for f in dataclasses.fields(Request)}
    given = {name: default for name, default in taken.items() if default is not python.Parameter.empty}
    assert given == {name: defaults[name] for name in given}
    assert all(type(given[name]) is type(defaults[name]) for name in given)


def test_every_option_has_its_door() -> None:
    made = set(python.signature(Simulation.__init__).parameters) - {"self", "model"}
    assert set(OPTIONS) <= made | set(python.signature(simulate).parameters)
    assert set(OF_CONCERN[Concern.SOLUTION]) == made
    assert set(KEPT) <= set(python.signature(simulate).parameters)  # so that a file can be resumed with them


def test_a_request_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Request().engine = "other"  # type: ignore[misc]


def test_a_model_may_declare_what_is_of_the_model(tmp_path: Path) -> None:
    assert {"closed", "inputs", "progress"} <= set(DECLARED)
    assert not {"watcher", "hdf5", "resume", "native", "threads"} & set(DECLARED)


def test_options_that_do_not_exist_are_refused_at_every_door() -> None:
    for call in (
        lambda: simulate(Pendulum(), until=0.0, metod="rk4"),
        lambda: Simulation(Pendulum(), engin="relative"),
        lambda: evaluate(Pendulum(), projektion="none"),
        lambda: simulate_many(Pendulum(), until=0.0, runs=2, watcher=None),
    ):
        with pytest.raises(RunError, match="there is no argument"):
            call()


@pytest.mark.parametrize("entry", ENGINES.values(), ids=lambda entry: entry.name)
def test_an_entry_says_what_is_true_of_its_engine(entry: EngineEntry) -> None:
    made = entry.load()
    assert issubclass(made, Engine)
    parameters = set(python.signature(made).parameters) - {"model", "topology", "kernels", "shared"}
    assert set(entry.takes) == parameters
    assert set(entry.own) <= set(OF_CONCERN[Concern.SOLUTION])
    assert METHODS[entry.method].steps == entry.steps
    program = Simulation(Pendulum(), engine=entry.name, native=False).program
    assert entry.steps in program.routines
    for choice in entry.own.values():
        assert choice.default in (*choice.names, None)
    settings = settings_of(Request(engine=entry.name, until=1.0))
    assert (settings.method, settings.step, settings.every) == (entry.method, entry.step, entry.every)


def test_each_engine_goes_with_the_methods_for_its_steps_and_refuses_others() -> None:
    for entry in ENGINES.values():
        for method in METHODS.values():
            if method.steps == entry.steps:
                check_method(entry, method.name)
            else:
                with pytest.raises(RunError, match=rf"{method.name}.*{entry.name}.*{entry.method}"):
                    check_method(entry, method.name)


def test_an_option_of_another_engine_is_refused_and_names_too() -> None:
    with pytest.raises(RunError, match=r"metric 'mass' belongs to engine='absolute'"):
        check_options(Request(metric="mass"))
    with pytest.raises(RunError, match=r"there is no engine 'relativ'. Did you mean 'relative'"):
        engine_named("relativ")
    with pytest.raises(RunError, match=r"there is no metric 'mas'. Did you mean 'mass'"):
        ENGINES["absolute"].options(Request(engine="absolute", metric="mas"))


def test_a_new_entry_is_known_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine and a method under other names: runs, refusals, advice and help know them."""
    engine = dataclasses.replace(
        ENGINES["absolute"], name="floating", about="bodies that float", method="heun", step=1e-2,
        own={"metric": EngineOption(("identity", "mass"), "identity")},
        refuses={Feature.MANY_RUNS: "it is shy"}, takes=("metric", "close"),
    )  # fmt: skip
    monkeypatch.setitem(ENGINES, "floating", engine)
    monkeypatch.setitem(METHODS, "heun", Method("heun", Family.FIXED, 2, judged=True))
    from kompono.compile.loops import LOOPS

    monkeypatch.setitem(LOOPS, "heun", LOOPS["rk2"])
    result = simulate(Pendulum(angle=0.3), until=0.1, engine="floating")
    assert result.status.ok
    assert (result.statistics["method"], result.statistics["step"]) == ("heun", 1e-2)
    with pytest.raises(RunError, match=r"it is shy.*Use engine='relative', 'absolute' or 'discrete'"):
        simulate_many(Pendulum(), until=0.1, runs=2, engine="floating")
    with pytest.raises(RunError, match=r"Did you mean 'floating'"):
        simulate(Pendulum(), until=0.1, engine="floatin")
    with pytest.raises(RunError, match=r"Radau does not run in real time.*heun"):
        simulate(Pendulum(), until=0.1, method="Radau", realtime=True)
    text = io.StringIO()
    with redirect_stdout(text), pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = " ".join(text.getvalue().split())
    assert "floating (bodies that float)" in shown
    assert "heun" in shown
    assert "absolute or floating: identity or mass" in shown


def test_nothing_but_the_registries_knows_engines_by_name() -> None:
    """Texts that are names of engines stand in the registry, in defaults of arguments, and in examples."""
    allowed = {
        "translate/engines/registry.py",
        "request.py",
        "edges/fmu/variables.py",
    }  # FMI, too, has a word `discrete`
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if name in allowed or name.startswith("examples/"):
            continue
        text = path.read_text(encoding="utf-8")
        if not any(quote + engine + quote in text for engine in ENGINES for quote in "\"'"):
            continue
        tree = ast.parse(text)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        defaults = {id(value) for function in functions for value in function.args.kw_defaults if value is not None}
        found = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in defaults]
        assert not {value for value in found if isinstance(value, str)} & set(ENGINES), name
