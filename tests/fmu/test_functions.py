"""The functions of an FMU, called one by one: instances, states, derivatives, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmu.fmu_models import Latch, Servo

from kompono.examples.reference.four_bar import FourBar

fmpy = pytest.importorskip("fmpy")


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[Any, dict[str, int], str]]:
    """Description, value references by name, folder."""
    told, folder = fmpy.read_model_description(str(path)), fmpy.extract(str(path))
    try:
        yield told, {variable.name: variable.valueReference for variable in told.modelVariables}, folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def slave(path: Path, count: int = 1) -> Iterator[tuple[list[Any], dict[str, int]]]:
    """So many instances for co-simulation in FMI 2, initialized."""
    from fmpy.fmi2 import FMU2Slave

    with unpacked(path) as (told, references, folder):
        made = [
            FMU2Slave(
                guid=told.guid, unzipDirectory=folder, modelIdentifier=told.coSimulation.modelIdentifier,
                instanceName=f"number {k}",
            )
            for k in range(count)
        ]  # fmt: skip
        for one in made:
            one.instantiate()
            one.setupExperiment(startTime=0.0)
            one.enterInitializationMode()
            one.exitInitializationMode()
        yield made, references
        for one in made:
            one.freeInstance()


@pytest.fixture(scope="module")
def path(exported: Callable[..., Path]) -> Path:
    return exported(Latch, 2)


def advance(instance: Any, begin: float, end: float) -> None:
    for k in range(round((end - begin) / 0.01)):
        instance.doStep(begin + 0.01 * k, 0.01)


def test_instances_know_nothing_of_each_other(path: Path) -> None:
    with slave(path, 2) as ((one, other), names):
        place = [names["slide.displacement"]]
        other.setReal([names["stiffness"]], [200.0])
        advance(one, 0.0, 0.5)
        alone = one.getReal(place)
        assert other.getReal(place) == [0.02]
        advance(other, 0.0, 0.5)
        assert other.getReal(place) != alone
        assert one.getReal(place) == alone


def test_a_state_can_be_kept_and_taken_back(path: Path) -> None:
    with slave(path, 2) as ((one, other), names):
        place = [names["slide.displacement"], names["count"], names["stage"]]
        advance(one, 0.0, 0.5)
        kept = one.getFMUState()
        data = one.serializeFMUState(kept)
        advance(one, 0.5, 1.5)
        right = one.getReal(place)
        one.setFMUState(kept)
        assert one.getReal(place) != right
        advance(one, 0.5, 1.5)
        assert one.getReal(place) == right
        taken = other.deserializeFMUState(data)
        other.setFMUState(taken)
        advance(other, 0.5, 1.5)
        assert other.getReal(place) == right
        for instance, state in ((one, kept), (other, taken)):
            instance.freeFMUState(state)


def test_reset_begins_anew(path: Path) -> None:
    with slave(path) as ((one,), names):
        place = [names["slide.displacement"]]
        advance(one, 0.0, 0.3)
        first = one.getReal(place)
        one.reset()
        one.setupExperiment(startTime=0.0)
        one.enterInitializationMode()
        one.exitInitializationMode()
        advance(one, 0.0, 0.3)
        assert one.getReal(place) == first


def test_what_is_wrong_is_refused_and_said(path: Path) -> None:
    from fmpy.fmi1 import FMICallException

    with slave(path) as ((one,), names):
        for call in (
            lambda: one.getReal([10_000]),
            lambda: one.setReal([names["power"]], [1.0]),
            lambda: one.setReal([names["slide.displacement"]], [1.0]),
            lambda: one.doStep(0.0, -1.0),
            lambda: one.getInteger([0]),
            lambda: one.deserializeFMUState(b"no state at all"),
        ):
            with pytest.raises(FMICallException):
                call()
        one.setReal([names["stiffness"]], [np.nan])
        with pytest.raises(FMICallException):
            one.doStep(0.0, 0.01)


def exchange(path: Path, folder: str, told: Any) -> Any:
    from fmpy.fmi3 import FMU3Model

    made = FMU3Model(
        guid=told.guid, unzipDirectory=folder, modelIdentifier=told.modelExchange.modelIdentifier, instanceName="one"
    )
    made.instantiate()
    made.enterInitializationMode(startTime=0.0)
    made.exitInitializationMode()
    return made


@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
@pytest.mark.parametrize("kind", [Latch, Servo, FourBar])
def test_directional_derivatives_are_exact(kind: Any, exported: Callable[..., Path]) -> None:
    path = exported(kind, 3, **({"channels": ("drift.*", "energy.total")} if kind is FourBar else {}))
    with unpacked(path) as (told, _, folder):
        model = exchange(path, folder, told)
        states = [unknown.variable.derivative.valueReference for unknown in told.derivatives]
        rates = [unknown.variable.valueReference for unknown in told.derivatives]
        inputs = [v.valueReference for v in told.modelVariables if v.causality == "input"]
        outputs = [v.valueReference for v in told.modelVariables if v.causality == "output" and v.name[:5] != "drift"]
        unknown, known = [*rates, *outputs], [*states, *inputs]
        seed = np.random.default_rng(1).normal(size=len(known))
        model.enterContinuousTimeMode()
        x = np.array(model.getFloat64(states))
        u = np.array(model.getFloat64(inputs)) if inputs else np.zeros(0)

        def values(h: float) -> np.ndarray:
            from ctypes import c_double

            shifted = x + h * seed[: len(x)]
            model.setContinuousStates((c_double * len(x))(*shifted), len(x))
            if inputs:
                model.setFloat64(inputs, list(u + h * seed[len(x) :]))
            return np.array(model.getFloat64(unknown))

        h = 1e-3
        numeric = (8 * (values(h) - values(-h)) - (values(2 * h) - values(-2 * h))) / (12 * h)
        values(0.0)
        exact = np.array(model.getDirectionalDerivative(unknown, known, list(seed)))
        assert np.abs(exact - numeric).max() < 1e-6 * (1 + np.abs(exact).max())
        model.freeInstance()


def test_an_fmu_for_one_kind_is_not_another(exported: Callable[..., Path]) -> None:
    path = exported(Latch, 3, kind="me")
    with unpacked(path) as (told, _, folder):
        from fmpy.fmi3 import FMU3Slave

        assert told.coSimulation is None
        other = FMU3Slave(
            guid=told.guid,
            unzipDirectory=folder,
            modelIdentifier=told.modelExchange.modelIdentifier,
            instanceName="one",
        )
        with pytest.raises(Exception, match="nstantiat"):
            other.instantiate()
