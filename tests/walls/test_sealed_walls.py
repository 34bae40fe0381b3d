"""Sealed parts behind walls: the same motion, whoever wrote them, and no more than that."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from walls.files import CONNECTS, HERE, NEVER_ENDS, OPENS, TRAPS, misbehaving

from kompono import Sealed, Simulation, seal, simulate, simulate_many
from kompono.compile import sealed
from kompono.compile.walls import filters, station
from kompono.errors import ModelError, SealedError
from kompono.examples.car import Car, standing_damper
from kompono.sealed import keys, load_sealed
from kompono.solve.integrate import Settings

pytest.importorskip("wasmtime")
pytestmark = pytest.mark.skipif(not station.available(), reason="no worker processes on this system")
walled = pytest.mark.skipif(not filters.available(), reason="no seccomp on this system")
CHANNELS = ["*.position.*", "*.velocity.*", "energy.*", "drift.*"]


@pytest.fixture(scope="module")
def file(stranger: keys.Identity, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The car's damper, by an author nobody trusts."""
    path = tmp_path_factory.mktemp("parts") / "damper.part"
    seal(standing_damper(), path, targets=HERE, author=stranger)
    return path


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same by the user."""
    path = tmp_path_factory.mktemp("parts") / "own.part"
    keys.own() or keys.make("Ada")
    seal(standing_damper(), path, targets=HERE)
    return path


def car(path: Path, **options: Any) -> Car:
    return Car(damper=lambda: Sealed(path, **options))


@pytest.fixture(scope="module")
def plain(own: Path) -> Any:
    """The car with its dampers sealed, without a wall."""
    return simulate(car(own), until=1.5, channels=CHANNELS)


@walled
def test_a_stranger_s_damper_in_a_process_has_the_same_bits(file: Path, plain: Any) -> None:
    found = simulate(car(file, isolate=True), until=0.2, channels=CHANNELS)
    assert found.status.ok
    for name in plain.names:
        assert np.array_equal(found[name], plain[name][: len(found.time)]), name


def test_a_stranger_s_damper_as_webassembly(file: Path, plain: Any) -> None:
    found = simulate(car(file, wall="wasm"), until=1.5, channels=CHANNELS)
    assert found.status.ok
    for name in plain.names:
        scale = max(1.0, np.abs(plain[name]).max())
        assert np.abs(found[name] - plain[name]).max() < 1e-12 * scale, name


def test_without_a_wall_a_stranger_is_refused(file: Path) -> None:
    with pytest.raises(SealedError, match=r"not trusted.*wall='wasm'"):
        load_sealed(file)
    with pytest.raises(SealedError, match="not trusted"):
        car(file)


def test_a_process_that_cannot_be_locked_is_no_wall(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "available", lambda: False)
    with pytest.raises(SealedError, match="not trusted"):
        load_sealed(file, "process")
    load_sealed(file, "wasm")


@walled
def test_no_machine_code_of_the_file_is_linked_here(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = load_sealed(file, "process")
    data = [d for name, d in code.file.members.items() if name.startswith("code/")]
    linked: list[bytes] = []
    link = sealed.jit._link
    monkeypatch.setattr(sealed.jit, "_link", lambda parts, *rest: (linked.extend(parts), link(parts, *rest))[1])
    sealed._entry.cache_clear()
    assert np.isfinite(np.array(code.function("piston", "move")(code.start("piston")))).all()
    assert linked
    assert not [d for d in linked if d in data]


def test_ensembles_use_lanes(own: Path) -> None:
    initial = {"guide.displacement": np.linspace(0.9, 0.92, 5)}
    request = {"until": 0.02, "initial": initial, "channels": "body.position.z", "lanes": 4}
    name, tables = "body.position.z", {}
    for wall in (None, "process", "wasm"):
        found = simulate_many(car(own, wall=wall), **request)
        assert not found.failed
        tables[wall] = found[name]
    assert np.array_equal(tables[None], tables["process"])
    assert np.abs(tables[None] - tables["wasm"]).max() < 1e-12


def test_a_killed_worker_ends_the_run(own: Path) -> None:
    simulation = Simulation(car(own, isolate=True))
    simulation.kernel.prepare(method="rk4")

    class Killer:
        channels = ("body.position.z",)

        def update(self, time: float, values: np.ndarray, /) -> None:
            """Kill all workers when the run is going."""
            if time > 0:
                for number in simulation.kernel.places.processes().values():
                    os.kill(number, signal.SIGKILL)

    with pytest.warns(match="SIGKILL"):
        result = simulation.run(Settings("rk4", until=3.0, step=1e-5), channels="body.position.z", watcher=Killer())
    assert result.status.message.startswith("left.damper and right.damper: ")
    assert 0 < result.time[-1] < 3
    assert np.isfinite(result["body.position.z"]).all()


@walled
@pytest.mark.parametrize("what", [OPENS, CONNECTS])
def test_code_that_reaches_for_the_system_is_killed(what: Any, stranger: keys.Identity, tmp_path: Path) -> None:
    path = misbehaving(standing_damper(), tmp_path / "evil.part", what, HERE[0], author=stranger)
    with pytest.warns(match="the wall forbids"):
        result = simulate(car(path, isolate=True), until=1.0, channels="body.position.z")
    assert result.status.message.startswith("left.damper and right.damper: its code tried what the wall forbids")
    assert len(result.time) > 10
    assert np.isfinite(result["body.position.z"]).all()


@walled
def test_the_same_before_the_run_is_an_error(stranger: keys.Identity, tmp_path: Path) -> None:
    path = misbehaving(standing_damper(), tmp_path / "evil.part", OPENS, HERE[0], after=0, author=stranger)
    with pytest.raises(SealedError, match=r"left\.damper and right\.damper: its code tried what the wall forbids"):
        simulate(car(path, isolate=True), until=1.0, channels="body.position.z")


@pytest.mark.parametrize(("what", "said"), [(NEVER_ENDS, "come to an end"), (TRAPS, "unreachable")])
def test_webassembly_that_misbehaves_ends_the_run(
    what: Any, said: str, stranger: keys.Identity, tmp_path: Path
) -> None:
    path = misbehaving(standing_damper(), tmp_path / "evil.part", what, HERE[1], author=stranger)
    with pytest.warns(match=said):
        result = simulate(car(path, wall="wasm"), until=1.0, channels="body.position.z")
    assert result.status.message.startswith("left.damper and right.damper: ")
    assert len(result.time) > 10


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"wall": "glass"}, "no wall"),
        ({"isolate": 1}, "neither True nor False"),
        ({"isolate": True, "wall": "wasm"}, "means wall='process'"),
    ],
)
def test_walls_have_names(own: Path, options: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        car(own, **options)


def test_a_file_without_webassembly_says_so(tmp_path: Path) -> None:
    keys.own() or keys.make("Ada")
    seal(standing_damper(), tmp_path / "native.part", targets=HERE[:1])
    with pytest.raises(SealedError, match=r"none as WebAssembly.*wasm32"):
        load_sealed(tmp_path / "native.part", "wasm")
    seal(standing_damper(), tmp_path / "wasm.part", targets=["wasm32"])
    with pytest.raises(SealedError, match="wall='wasm'"):
        load_sealed(tmp_path / "wasm.part")


def test_a_sealed_part_has_the_wall_it_was_declared_with(own: Path) -> None:
    with pytest.raises(ModelError, match="isolate=True"):
        simulate(car(own), until=0.01, isolate=["left.damper"])
    with pytest.raises(ModelError, match=r"left\.damper: it is inside left"):
        simulate(car(own, isolate=True), until=0.01, closed=["left"], isolate=["left"])
