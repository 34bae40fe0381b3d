"""Sealed parts in models: the same motion as the open ones, with nothing but ports and public names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sealed.machines import PAIRS, Actuator, Arm, Pushed, Swing

from kompono import (
    Body,
    Ground,
    Input,
    Parameter,
    Result,
    Sealed,
    Sensor,
    State,
    Subsystem,
    evaluate,
    seal,
    sensitivities,
    simulate,
    simulate_many,
)
from kompono.compile import sealed as native
from kompono.compile import targets
from kompono.errors import KomponoError, ModelError, RunError, SealedError
from kompono.examples.car import Car, standing_damper
from kompono.library import Gravity, JointEffort, Weld, solids
from kompono.scene import describe, poses
from kompono.sealed import keys, load_sealed
from kompono.starting import closed_start
from kompono.translate import translate
from kompono.translate.parts.gauge import gauge

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
HERE = [str(targets.fitting(targets.TARGETS))]  # this machine alone
PUBLIC = {"actuator": ["gain", "command", "stroke"], "linkage": ["half"]}
RUN: dict[str, Any] = {"until": 0.5, "step": 1e-3, "every": 10}


@pytest.fixture(autouse=True, scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keys and trust of all tests here."""
    folder = tmp_path_factory.mktemp("keys") / "config"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KOMPONO_CONFIG", str(folder))
        keys.make("Ada")
        yield folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Sealed components by name."""
    folder, made = tmp_path_factory.mktemp("files"), set()

    def find(name: str) -> str:
        path = folder / f"{name}.part"
        if name not in made:
            part = standing_damper() if name == "damper" else PAIRS[name][0]()
            seal(part, path, public=PUBLIC.get(name, ()), targets=HERE)
            made.add(name)
        return str(path)

    return find


@pytest.fixture
def locked_swing(tmp_path: Path) -> str:
    """A swing whose numbers are locked for its own author."""
    seal(Swing(), tmp_path / "swing.part", targets=HERE, recipients=[keys.needed().card])
    return str(tmp_path / "swing.part")


def compare(found: Result, whole: Result, exact: float) -> None:
    """All channels of a model with sealed parts are those of the open one, but for motion of frames that are ports."""
    assert whole.status.ok, whole.status.message
    assert found.status.ok, found.status.message
    frames = ("part.tip.", "part.eye.", "part.side.")
    assert {name for name in found if not name.startswith(frames)} < set(whole)
    for name in found:
        if not name.startswith(("drift", *frames)):
            scale = 1.0 + np.abs(whole[name]).max()
            assert np.abs(found[name] - whole[name]).max() < exact * scale, name


# -- the same motion


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_the_car_with_sealed_dampers(files: Callable[[str], str], method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    linked: list[str] = []
    objects = native.objects
    monkeypatch.setattr(native, "objects", lambda names, lanes: linked.extend(names) or objects(names, lanes))
    options = {"until": 1.5, "step": 1e-3, "method": method}
    path = files("damper")
    found = simulate(Car(lambda: Sealed(path)), cache=False, **options)
    assert linked  # the machine code of the file, not something traced
    whole = simulate(Car(), **options)
    assert np.ptp(whole["body.position.z"]) > 0.01
    placed = [name for name in found if re.search(r"\.(position|orientation)\.|\.(angle|displacement)$", name)]
    assert len(placed) > 70
    for name in placed:
        assert np.abs(found[name] - whole[name]).max() < 1e-12, name
    compare(found, whole, 1e-10)
    assert found.statistics["steps"] == whole.statistics["steps"]
    assert "left.damper.slide.displacement" in whole
    assert "left.damper.slide.displacement" not in found


@pytest.mark.parametrize("name", PAIRS)
def test_whatever_is_inside(files: Callable[[str], str], name: str) -> None:
    """Events and modes, loops that are redundant and run through ports, quaternions, frames, one port, grounds."""
    part, owner = PAIRS[name]
    whole, found = simulate(owner(part()), **RUN), simulate(owner(Sealed(files(name))), **RUN)
    compare(found, whole, 1e-8 if name == "knuckle" else 1e-11)  # other coordinates: rk4 errs otherwise
    assert np.ptp(whole["energy.kinetic"]) > 1e-3
    if name == "actuator":
        assert np.diff(whole["part.stroke"]).min() < 0 < np.diff(whole["part.stroke"]).max()  # it was switched


PLACED = {"ball": 0.1, "linkage": 0.1, "actuator": 0.5, "swing": 0.5, "arm": 0.5}


@pytest.mark.parametrize("name", PLACED if "KOMPONO_LAWS" in os.environ else ["ball"])
def test_bodies_around_it_may_be_placed_one_by_one(files: Callable[[str], str], name: str) -> None:
    """Inside it keeps the coordinates of its joints; its base is placed, other ports follow."""
    part, owner = PAIRS[name]
    options: dict[str, Any] = {"until": PLACED[name], "step": 1e-2, "method": "dopri5", "rtol": 1e-11}
    whole = simulate(owner(part()), **options)
    found = simulate(owner(Sealed(files(name))), engine="absolute", **options)
    compare(found, whole, 1e-7)
    assert found["drift.position"].max() < 1e-14


def test_a_closed_part_around_a_sealed_one_with_bodies_placed_one_by_one(files: Callable[[str], str]) -> None:
    path = files("damper")
    options = {"until": 0.05, "step": 1e-3, "channels": ["body.position.z", "left.hinge.torque.y"], "cut": ["guide"]}
    whole = simulate(Car(), engine="absolute", **options)
    found = simulate(Car(lambda: Sealed(path)), engine="absolute", closed=["left"], **options)
    for name in found:
        assert np.abs(found[name] - whole[name]).max() < 1e-9 * (1 + np.abs(whole[name]).max())


def test_a_closed_part_around_a_sealed_one(files: Callable[[str], str]) -> None:
    path = files("damper")
    options = {"until": 0.1, "step": 1e-3, "channels": ["body.position.z"]}
    whole = simulate(Car(), **options)
    found = simulate(Car(lambda: Sealed(path)), closed=["left", "right"], **options)
    assert np.abs(found["body.position.z"] - whole["body.position.z"]).max() < 1e-13


@pytest.mark.parametrize("method", ["Radau", "LSODA"])
def test_implicit_methods_take_differences(files: Callable[[str], str], method: str) -> None:
    options = {"until": 0.05, "step": 1e-3, "method": method, "rtol": 1e-8, "channels": ["body.position.z"]}
    path = files("damper")
    whole, found = simulate(Car(), **options), simulate(Car(lambda: Sealed(path)), **options)
    assert found.status.ok
    assert np.abs(found["body.position.z"] - whole["body.position.z"]).max() < 1e-7


def test_the_native_implicit_method_takes_differences_of_a_stiff_one(files: Callable[[str], str]) -> None:
    """A fast state beside it makes the whole stiff."""

    part, owner = PAIRS["ball"]

    class Stiff(owner):
        def __init__(self, part: Any) -> None:
            super().__init__(part)
            self.sight = Sensor(part.side)
            self.shadow = State(0.0)
            self.shadow.rate = 1e5 * (self.sight.position[2] - self.shadow)

    options = {"until": 0.5, "step": 0.05, "rtol": 1e-7, "method": "esdirk4", "channels": ["shadow"]}
    whole, found = simulate(Stiff(part()), **options), simulate(Stiff(Sealed(files("ball"))), **options)
    assert found.status.ok
    assert found.statistics["implicit_steps"] > 0.5 * found.statistics["steps"]
    assert found.statistics["steps"] == pytest.approx(whole.statistics["steps"], rel=0.1)
    assert np.abs(found["shadow"] - whole["shadow"]).max() < 1e-6
    assert np.ptp(whole["shadow"]) > 1e-3


def test_gradients_refuse_it_by_name(files: Callable[[str], str]) -> None:
    with pytest.raises(RunError, match=r"left\.damper.*sealed.*no derivatives"):
        sensitivities(Car(lambda: Sealed(files("damper"))), ["guide.displacement"], until=0.1)


def test_frames_of_hidden_bodies_are_seen_by_their_own_motion(files: Callable[[str], str]) -> None:
    part, owner = PAIRS["ball"]

    class Watched(owner):
        def __init__(self, part: Any) -> None:
            super().__init__(part)
            self.sight = Sensor(part.side)

    whole, found = (simulate(Watched(p), until=0.1) for p in (part(), Sealed(files("ball"))))
    for kind in ("position.x", "velocity.y", "acceleration.z", "angular_acceleration.x"):
        assert np.abs(found[f"part.side.{kind}"] - whole[f"sight.{kind}"]).max() < 1e-11, kind
    assert "part.bob.position.x" not in found
    assert poses(describe(Watched(Sealed(files("ball")))), found).shape[1] > 3  # a viewer can place everything


# -- public names


def test_parameters_and_inputs(files: Callable[[str], str]) -> None:
    path, name = files("actuator"), "part.stroke"
    table = ([0.0, 0.5], [1.0, 3.0])
    whole = simulate(Pushed(Actuator(gain=5.0, command=Input(table=table))), **RUN)
    given = Sealed(path, gain=5.0, command=Input(table=table))
    assert isinstance(given.gain, Parameter)
    assert np.abs(simulate(Pushed(given), **RUN)[name] - whole[name]).max() < 1e-12
    model = Pushed(Sealed(path, gain=Parameter(1.0)))
    found = simulate(model, parameters={"part.gain": 5.0}, inputs={"part.command": table}, **RUN)
    assert np.abs(found[name] - whole[name]).max() < 1e-12
    other = simulate(Pushed(Sealed(path)), **RUN)
    assert np.abs(other[name] - whole[name]).max() > 1e-3


def test_a_parameter_that_changes_the_loops_inside(files: Callable[[str], str]) -> None:
    """The start is assembled anew, inside too."""
    part, owner = PAIRS["linkage"]
    options = {"parameters": {"part.half": 0.27}, "until": 0.02, "step": 1e-3}
    whole, found = (simulate(owner(p), **options) for p in (part(), Sealed(files("linkage"))))
    compare(found, whole, 1e-11)
    assert found["drift.position"].max() < 1e-12
    assert (
        np.abs(found["part.slider.position.x"] - simulate(owner(part()), until=0.02)["part.slider.position.x"]).max()
        > 0.01
    )


def test_parts_that_float_and_files_that_are_locked(locked_swing: str) -> None:
    def floating(part: Any) -> Subsystem:
        class Floating(Subsystem):
            def __init__(self) -> None:
                self.gravity, self.part, self.stone = Gravity(), part, Body(solids.sphere(mass=1.0, radius=0.1))

        return Floating()

    options = {"until": 0.1, "initial": {"part.box.position.z": 1.0, "part.box.angular_velocity.x": 2.0}}
    whole, found = (simulate(floating(part), **options) for part in (Swing(), Sealed(locked_swing)))
    compare(found, whole, 1e-12)
    assert found["part.box.position.z"][0] == 1.0


def test_ensembles(files: Callable[[str], str]) -> None:
    path, name = files("actuator"), "part.stroke"
    gains = np.linspace(2.0, 6.0, 9)
    whole = simulate_many(Pushed(Actuator()), parameters={"part.gain": gains}, channels=[name], **RUN)
    found = simulate_many(Pushed(Sealed(path)), parameters={"part.gain": gains}, channels=[name], **RUN)
    assert not found.failed
    assert np.abs(found[name] - whole[name]).max() < 1e-12
    assert np.ptp(whole[name][:, -1]) > 1e-3


def test_real_time_and_what_masses_nobody_knows(files: Callable[[str], str]) -> None:
    path, run = files("actuator"), {"until": 0.05, "step": 1e-3, "channels": ["part.stroke"]}
    plain, paced = (simulate(Pushed(Sealed(path)), **run, realtime=realtime) for realtime in (False, True))
    assert paced.status.ok
    assert np.ptp(plain["part.stroke"]) > 1e-4
    np.testing.assert_allclose(paced["part.stroke"], plain["part.stroke"], rtol=0, atol=1e-15)
    with pytest.raises(RunError, match=r"part: the mass matrix of what is sealed"):
        evaluate(Pushed(Sealed(path))).mechanics  # noqa: B018


def test_sensors_start_values_and_two_of_a_file(files: Callable[[str], str]) -> None:
    class Two(Subsystem):
        def __init__(self, make: Callable[[], Any]) -> None:
            self.ground, self.parts = Ground(), [make(), make()]
            self.clamp = Weld(self.ground, self.parts[0].housing)
            self.chain = Weld(self.parts[0].cart, self.parts[1].housing)
            self.eye = Sensor(self.parts[1].cart.at(0.1, 0, 0))

    path = files("actuator")
    whole = simulate(Two(Actuator), initial={"parts.1.rail.displacement": 0.3}, **RUN)
    found = simulate(Two(lambda: Sealed(path)), initial={"parts.1.inside.x0": 0.3}, **RUN)
    compare(found, whole, 1e-12)
    assert found["eye.position.x"][0] == pytest.approx(0.37 + 0.3 + 0.1)


def test_another_process_loads_the_file_again(files: Callable[[str], str]) -> None:
    script = (
        "from kompono import Sealed, simulate\nfrom sealed.machines import Pushed\n"
        f"result = simulate(Pushed(Sealed({files('actuator')!r})), until=0.1, step=1e-3)\n"
        "print(repr(float(result['part.stroke'][-1])))"
    )
    folders = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    runs = [
        subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True,
                       env=os.environ | {"PYTHONPATH": folders}).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert runs[0] == runs[1]
    here = simulate(Pushed(Sealed(files("actuator"))), until=0.1, step=1e-3)["part.stroke"][-1]
    assert float(runs[0]) == here


# -- what is refused


def model_of(make: Callable[[], Any], use: Callable[[Subsystem], Any] = lambda _: None) -> Subsystem:
    class Model(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.unit = make()
            use(self)

    return Model()


def test_wrong_keywords_files_and_ports_are_said_with_the_path(files: Callable[[str], str], tmp_path: Path) -> None:
    path = files("actuator")
    altered = tmp_path / "altered.part"
    altered.write_bytes(Path(path).read_bytes()[:-40])
    for make, error, reason in (
        (lambda: Sealed(path, gian=3.0), ModelError, "no parameter or input 'gian'.*'gain'"),
        (lambda: Sealed(path, gain="much"), ModelError, "gain"),
        (lambda: Sealed(path, command=np.sin), ModelError, "neither a number nor an Input"),
        (lambda: Sealed("nowhere.part"), SealedError, "nowhere.part: cannot be read"),
        (lambda: Sealed(altered), SealedError, "altered.part"),
        (lambda: Sealed(None), ModelError, "file None is no name of a file"),  # type: ignore[arg-type]
    ):
        with pytest.raises(error, match=rf"Model\.unit: .*{reason}"):
            model_of(make)
    with pytest.raises(ModelError, match=r"unit: .*shows no 'housin'.*'housing'"):
        model_of(lambda: Sealed(path), lambda model: model.unit.housin)
    with pytest.raises(ModelError, match="shows no 'rail'"):
        model_of(lambda: Sealed(path), lambda model: model.unit.rail)
    assert not hasattr(Sealed(path), "rail")


def test_an_author_who_is_not_trusted(
    files: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files("actuator")
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "config"))
    with pytest.raises(SealedError, match=r"Model\.unit: .*is not trusted.*kompono trust add"):
        model_of(lambda: Sealed(path))


def test_other_engines_refuse_it_by_name(files: Callable[[str], str]) -> None:
    with pytest.raises(KomponoError, match="part: the inside of a sealed part is in joint coordinates"):
        simulate(Pushed(Sealed(files("actuator"))), until=0.1, engine="discrete")
    with pytest.raises(ModelError, match="no model"):
        simulate(Sealed(files("actuator")), until=0.1)


def test_nobody_reaches_inside(files: Callable[[str], str]) -> None:
    class Reaching(Pushed):
        def __init__(self, part: Any) -> None:
            super().__init__(part)
            self.twice = JointEffort(self.guide, part.modes[0])

    with pytest.raises(ModelError, match=r"twice: .*modes"):
        simulate(Reaching(Sealed(files("actuator"))), until=0.1)
    with pytest.raises(RunError, match=r"part\.rail"):
        simulate(Pushed(Sealed(files("actuator"))), until=0.1, initial={"part.rail.displacement": 0.3})


def test_what_is_sealed_cannot_be_sealed_again(files: Callable[[str], str], tmp_path: Path) -> None:
    class Outer(Subsystem):
        def __init__(self) -> None:
            self.part = Sealed(files("actuator"))
            self.expose(self.part.housing)

    with pytest.raises(KomponoError, match="seal"):
        seal(Outer(), tmp_path / "outer.part")


def test_what_cannot_be_a_port(tmp_path: Path) -> None:
    class Shifted(Arm):
        def __init__(self) -> None:
            super().__init__()
            self.length = Parameter(0.3)
            self.expose(eye=self.arm.at(0, 0, self.length))

    with pytest.raises(ModelError, match="eye depends on a parameter"):
        seal(Shifted(), tmp_path / "f.part")


@pytest.mark.parametrize("routine", ["derivative", "project", "outputs"])
def test_nothing_but_its_functions_looks_at_x(files: Callable[[str], str], routine: str) -> None:
    """The border law of closed parts, for the owner's machine code."""
    path = files("damper")
    translation = translate(Car(lambda: Sealed(path)), close=closed_start)
    names = [*translation.program.coordinates, *translation.program.speeds]
    inside = [k for k, name in enumerate(names) if ".damper.inside." in name]
    assert len(inside) == 8
    code = load_sealed(path)
    found = gauge(translation.program, routine, inside, [f"{code.stem}_{number}" for number in code.described])
    assert found.closed
    assert found.calls
