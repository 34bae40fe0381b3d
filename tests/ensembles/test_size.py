"""Ensembles of any number of runs: what a run costs does not depend on how many there are, nor does what is held."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ensembles.machines import Tunable
from solve.machines import Pendulum

from kompono import Parameter, simulate_many
from kompono.errors import ModelError
from kompono.solve import many
from kompono.solve.integrate import Settings
from kompono.solve.many import AHEAD, Batch, run_batch
from kompono.solve.outcome import Outputs
from kompono.solve.progress import Progress
from kompono.spatial.vectors import check_inertia, doubtful_inertias


def batch(runs: int) -> Batch:
    outputs = Outputs("outputs", (), (), 0)
    return Batch(Settings("rk4", 1.0, 1e-3), outputs, np.zeros((runs, 2)), np.zeros((runs, 0)), 1)


@pytest.fixture
def counted(monkeypatch) -> dict[str, int]:
    """Groups that were begun, and looks at how far one has come."""
    counts = {"begun": 0, "looks": 0}
    reached = many._Task.reached.fget

    def run_group(kernel: Any, part: Batch, *_: Any) -> list[str]:
        counts["begun"] += 1
        return ["done"] * len(part.states)

    def look(task: Any) -> float:
        counts["looks"] += 1
        return reached(task)  # type: ignore[misc]

    monkeypatch.setattr(many, "run_group", run_group)
    monkeypatch.setattr(many._Task, "reached", property(look))
    return counts


def test_what_a_group_costs_does_not_grow_with_their_number(counted: dict[str, int]) -> None:
    parts = list(run_batch(None, batch(4000), lambda: None, lambda _: None, 2, Progress(4000.0, False)))  # type: ignore
    assert [runs[0] for runs, _ in parts] == list(range(4000))
    assert counted["looks"] <= (1 + 2 * AHEAD) * 4000


def test_few_groups_are_under_way_at_a_time(counted: dict[str, int]) -> None:
    for taken, _ in enumerate(
        run_batch(None, batch(200), lambda: None, lambda _: None, 3, Progress(200.0, False))  # type: ignore
    ):
        assert counted["begun"] <= taken + 1 + 3 * AHEAD


def test_no_group_begins_after_ctrl_c(counted: dict[str, int]) -> None:
    progress, taken = Progress(200.0, False), 0
    for _ in run_batch(None, batch(200), lambda: None, lambda _: None, 2, progress):  # type: ignore
        taken += 1
        progress.interrupted = True
    assert taken == counted["begun"] <= 1 + 2 * AHEAD


def test_starts_that_are_alike_are_assembled_once(monkeypatch) -> None:
    from kompono.simulation import Simulation

    assembled, assemble = [], Simulation.assemble

    def spy(self: Simulation, initial: Any = None, **options: Any) -> Any:
        assembled.append(initial)
        return assemble(self, initial, **options)

    monkeypatch.setattr(Simulation, "assemble", spy)
    angles = np.tile([0.3, 0.1, 0.2], 40)
    ensemble = simulate_many(Pendulum(), until=0.01, initial={"pin.angle": angles}, channels="pin.angle")
    assert [given["pin.angle"] for given in assembled] == [0.1, 0.2, 0.3]
    np.testing.assert_allclose(ensemble["pin.angle"][:, 0], angles)


def test_an_ensemble_says_what_it_holds() -> None:
    ensemble = simulate_many(Tunable(), until=0.01, runs=50, channels="*angle")
    assert ensemble.statistics["bytes"] == ensemble.table.nbytes == 50 * 11 * 2 * 8
    assert "memory     0.0088 MB of channels" in ensemble.summary()


def test_mass_properties_of_all_runs_are_looked_at() -> None:
    masses = np.ones(40)
    masses[17] = -1.0
    with pytest.raises(ModelError, match=r"run 17: mass -1\.0 kg is not positive"):
        simulate_many(Tunable(), until=0.01, parameters={"mass": masses})
    random = np.random.default_rng(3)
    inertias = random.normal(size=(200, 3, 3))
    inertias = inertias @ inertias.transpose(0, 2, 1)
    inertias[::7, 0, 1] *= 1.1
    inertias[::11, 2, 2] = np.nan
    masses = np.where(np.arange(200) % 13, 1.0, 0.0)
    doubtful = set(doubtful_inertias(masses, inertias).tolist())
    bad = {i for i in range(200) if check_inertia(float(masses[i]), inertias[i])}
    assert bad <= doubtful
    assert len(doubtful) < 200


def test_a_tunable_mass_per_run() -> None:
    mass = Parameter(1.0, unit="kg")

    class Tuned(Pendulum):
        def __init__(self) -> None:
            self.weight = mass
            super().__init__(mass=mass, angle=0.3)

    ensemble = simulate_many(Tuned(), until=0.01, parameters={"weight": [1.0, 2.0, 3.0]}, channels="energy.kinetic")
    kinetic = ensemble["energy.kinetic"][:, -1]
    np.testing.assert_allclose(kinetic / kinetic[0], [1.0, 2.0, 3.0], rtol=1e-9)
