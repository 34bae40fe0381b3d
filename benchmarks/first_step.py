"""What a change costs before anything moves: processor seconds from a model, or its file, to the first step.

python benchmarks/first_step.py                 all (`make bench` runs it, too)
python benchmarks/first_step.py car Stewart     some

Each figure is that of a new process, imports not counted, helper processes counted: `new` with an empty cache, `edited
number` with the cache of that and another mass in the model, `warm` for the same model again, `edited structure` with
one more body on a spring, `edited stiffness` with another number in all springs and dampers, `edited length` with one
point of one body elsewhere. The robot is that of the examples, 43 bodies and 351 conditions, in joint and in absolute
coordinates; the car is moved by tiny steps, too. Cassie and SoftFoot are read from files beside this checkout, where
they are; with friction and limits, and without. MuJoCo reads the same two files; the peers that are installed build
machines of `compare.py` and make one step.

Every call appends a line to history.jsonl: when, which commit, the load of the machine, all figures. What takes more
than 1.3 times the least it ever took, and 0.1 s more, is named at the end; the other load may be why.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pkgutil
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from tables import show

from kompono import Body, Effort, Force, Frame, Ground, Joint, Subsystem, load, simulate
from kompono.examples.car import Car
from kompono.examples.kuka import Kuka
from kompono.library import Gravity, Prismatic, Spherical, SpringDamper, Universal, solids
from kompono.spatial.pose import Pose

HERE = Path(__file__).parent
MACHINES = HERE.parents[1] / "shared" / "machines" / "mjcf"
FILES = {
    "Cassie": (MACHINES / "agility_cassie" / "cassie.nomesh.xml", "cassie-pelvis"),
    "SoftFoot": (MACHINES / "iit_softfoot" / "softfoot.nomesh.xml", "heel"),
}
HISTORY = HERE / "history.jsonl"
COLUMNS = ("new", "edited number", "edited structure", "warm", "edited stiffness", "edited length")
PEERS = ("mujoco", "pinocchio", "drake", "exudyn")
SLOWER, MORE = 1.3, 0.1  # times, and seconds, from which on a figure is named


class Stewart(Subsystem):
    """A plate on six legs, each a universal joint, a slide and a ball."""

    def __init__(self, mass: float = 10.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.plate = Body(solids.cylinder(mass=mass, length=0.05, radius=0.4), start_position=(0, 0, 1.0))
        for k in range(6):
            low, high = (np.pi / 3 * (k + shift) for shift in (0.15 * (-1) ** k, 0.35 * (-1) ** (k + 1)))
            foot, head = (r * np.array([np.cos(a), np.sin(a), 0.0]) for r, a in ((0.8, low), (0.4, high)))
            way = head + [0, 0, 1.0] - foot
            length, z = np.linalg.norm(way), way / np.linalg.norm(way)
            x = np.cross([0, 1.0, 0], z) / np.linalg.norm(np.cross([0, 1.0, 0], z))
            turn = np.column_stack([x, np.cross(z, x), z])
            sleeve, rod = (Body(solids.rod(mass=1.0, length=0.5, radius=0.02, axis="z")) for _ in range(2))
            base = Universal(self.ground.at(*foot, orientation=turn), sleeve.at(0, 0, -0.25))
            slide = Prismatic(sleeve, rod, axis="z", displacement=length - 0.5)
            top = Spherical(rod.at(0, 0, 0.25), self.plate.at(*head))
            for name, part in {"sleeve": sleeve, "rod": rod, "base": base, "slide": slide, "top": top}.items():
                setattr(self, f"{name}{k}", part)


def _read(file: Path, body: str, options: dict[str, bool]) -> Callable[[float], Subsystem]:
    return lambda mass: load(file, masses={body: mass}, **options)


def machines() -> dict[str, Callable[[float], Subsystem]]:
    """Models by name, each with a mass [kg] of one of their bodies."""
    found: dict[str, Callable[[float], Subsystem]] = {"car": _car, "Stewart": Stewart}
    found |= {"robot": _robot, "robot, absolute": _robot, "car, discrete": _car}
    for name, (file, body) in FILES.items():
        if file.is_file():
            found[name] = _read(file, body, {})
            found[f"{name}, no laws"] = _read(file, body, {"limits": False, "friction": False})
    return found


def _car(mass: float) -> Car:
    """The car with a weight on a spring below it: its mass is the number."""
    car = Car()
    car.weight = Body(mass=mass, inertia=(1, 1, 1))
    car.hook = Spherical(car.body.at(0, 0, -0.3), car.weight.at(0, 0, 0.1))
    return car


def _robot(mass: float) -> Kuka:
    """The robot with another mass of its base."""
    robot = Kuka()
    robot.base.solid = replace(robot.base.solid, mass=mass)
    return robot


def used() -> float:
    """Processor seconds of this process and those it waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def _longer(model: Subsystem) -> Subsystem:
    """The same with one more body."""
    model.more_ground, model.more = Ground(), Body(mass=1.0, inertia=(0.1, 0.2, 0.3))
    model.more_spring = SpringDamper(model.more_ground, model.more, k=10.0, rest=0.1)
    return model


def _stiffer(model: Subsystem) -> Subsystem:
    """The same with other springs and dampers."""
    for element in model.walk():
        if isinstance(element, Force | Effort):
            for name in ("k", "c"):
                if isinstance(getattr(element, name, None), float):
                    setattr(element, name, 1.1 * getattr(element, name))
    return model


def _farther(model: Subsystem) -> Subsystem:
    """The same with the last joint that is off the middle of its second body a little farther out."""
    off = [joint for joint in model.walk() if isinstance(joint, Joint) and _placed(joint.second)]
    frame = off[-1].second
    frame.pose = Pose(1.001 * frame.pose.position, frame.pose.rotation)
    return model


def _placed(frame: Frame) -> bool:
    position = frame.pose.position
    return isinstance(position, ca.DM) and bool(np.any(position.full())) and not isinstance(frame, Body | Ground)


CHANGES: dict[str, Callable[[Subsystem], Subsystem]] = {
    "longer": _longer, "stiffer": _stiffer, "farther": _farther,
}  # fmt: skip


def import_all() -> None:
    """Import what traces and writes code: runs import it when they need it, and imports are not counted."""
    for name in ("kompono.translate", "kompono.compile", "kompono.solve"):
        for found in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            importlib.import_module(found.name)


def measure(name: str, mass: float, changes: list[str]) -> None:
    """In a process of its own: print seconds to the first step."""
    warnings.simplefilter("ignore")
    import_all()
    make, before = machines()[name], used()
    model = make(mass)
    for change in changes:
        model = CHANGES[change](model)
    engine = next((one for one in ("absolute", "discrete") if name.endswith(one)), "relative")
    step = 1e-5 if engine == "discrete" else 1e-4
    simulate(model, until=step, step=step, engine=engine)
    print(json.dumps(used() - before))


def measure_peer(peer: str, case_name: str) -> None:
    """The same for a peer, on a machine of `compare.py`; MuJoCo also from a file."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(HERE / "peers"))
    if case_name in FILES:
        mujoco: Any = importlib.import_module("mujoco")
        before = used()
        model = mujoco.MjModel.from_xml_path(str(FILES[case_name][0]))
        mujoco.mj_step(model, mujoco.MjData(model))
    else:
        case = next(case for case in importlib.import_module("machines").cases() if case.name == case_name)
        module, machine = importlib.import_module(f"{peer}_peer"), case.machine()
        before = used()
        module.runners(case, machine, 1e-3)[0].steps(1)
    print(json.dumps(used() - before))


def asked(cache: str, *arguments: object) -> float:
    """The same, asked from outside; nothing if it cannot be."""
    command = [sys.executable, __file__, "--measure", *map(str, arguments)]
    environment = {**os.environ, "KOMPONO_CACHE": cache}
    answer = subprocess.run(command, check=False, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(answer.stdout.splitlines()[-1]) if answer.returncode == 0 else float("nan")


def figures(name: str) -> list[float]:
    """Seconds of one machine, in the order of COLUMNS."""
    with tempfile.TemporaryDirectory() as cache:
        new, edited, warm = asked(cache, name, 10.0), asked(cache, name, 10.5), asked(cache, name, 10.5)
        changed = [asked(cache, name, 10.5, change) for change in ("longer", "stiffer", "farther")]
        return [new, edited, changed[0], warm, *changed[1:]]


def peers_figures() -> dict[str, dict[str, float]]:
    """Seconds of peers that are installed, by machine."""
    found: dict[str, dict[str, float]] = {}
    wanted = [("mujoco", name) for name, (file, _) in FILES.items() if file.is_file()]
    wanted += [(peer, case) for case in ("car", "chain, 32", "four-bars, 10") for peer in PEERS]
    for peer, case in wanted:
        if importlib.util.find_spec(peer if peer != "drake" else "pydrake"):
            seconds = asked("", "--peer", peer, case)
            if np.isfinite(seconds):
                found.setdefault(case, {})[peer] = seconds
    return found


def remember(rows: dict[str, list[float]], peers: dict[str, dict[str, float]]) -> list[str]:
    """Append to the history; what has become slower."""
    before = [json.loads(line) for line in HISTORY.read_text().splitlines()] if HISTORY.exists() else []
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=False, cwd=HERE, stdout=subprocess.PIPE)
    entry = {
        "when": time.strftime("%Y-%m-%d %H:%M"), "commit": commit.stdout.decode().strip(),
        "load": round(os.getloadavg()[0], 1), "kompono": rows, "peers": peers,
    }  # fmt: skip
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
    return slower(before, rows)


def slower(before: list[dict[str, Any]], rows: dict[str, list[float]]) -> list[str]:
    """What takes longer than it once did, or cannot be measured any more: that is no number."""
    found = []
    for name, values in rows.items():
        for k, value in enumerate(values):
            known = [old["kompono"][name][k] for old in before if len(old["kompono"].get(name, ())) > k]
            least = min(filter(np.isfinite, known), default=np.inf)
            if not np.isfinite(value):
                found.append(f"{name}, {COLUMNS[k]}: no first step")
            elif value > SLOWER * least and value > least + MORE:
                found.append(f"{name}, {COLUMNS[k]}: {value:.2f} s, once {least:.2f} s")
    return found


def main(chosen: list[str]) -> None:
    """One line per machine."""
    rows = {}
    for name in machines():
        if not chosen or name in chosen:
            rows[name] = [round(value, 3) for value in figures(name)]
            print(name, *rows[name], flush=True)
    peers = {} if chosen else peers_figures()
    title = f"Processor seconds to the first step (load average {os.getloadavg()[0]:.1f})"
    show(title, ("machine", *COLUMNS), [(name, *(f"{v:.2f}" for v in values)) for name, values in rows.items()])
    if peers:
        table = [(case, *(f"{found[p]:.2f}" if p in found else "" for p in PEERS)) for case, found in peers.items()]
        show("Peers: processor seconds to build a machine and make one step", ("machine", *PEERS), table)
    for line in remember(rows, peers):
        print(f"slower than it was: {line}")


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:2] == ["--measure", "--peer"]:
        measure_peer(given[2], given[3])
    elif given[:1] == ["--measure"]:
        measure(given[1], float(given[2]), given[3:])
    else:
        main(given)
