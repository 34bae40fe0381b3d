"""MuJoCo: its own rk4 in `mj_step(nstep=...)`, joints in minimal coordinates, loops as `connect` equalities.

Everything a machine does not use (contacts, limits, sensors, and constraints where there are no loops) is switched off.
Loops are soft in MuJoCo: they run with the hardest impedance it allows (0.9999) and a time constant of two steps, the
smallest it recommends. Newton's solver needs one iteration for them. Springs are spatial tendons, gears joint
equalities; torques come from a compiled callback. `rollout` runs ensembles.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from judge import Record, judged
from machines import ROOT, Case
from mujoco import rollout
from parts import WORLD, Array, Machine

NAME = "MuJoCo"
HARDEST = [0.9999, 0.9999, 1e-3, 0.5, 2.0]  # impedance, constant
LEAST = 1e-12  # [kg m^2]; MuJoCo refuses slender bars without inertia about their own axis
SOURCE = Path(__file__).with_name("mujoco_torques.c")


def version() -> str:
    """Of the package."""
    return mujoco.__version__


def model_of(machine: Machine, step: float) -> Any:
    """Build and compile; one body for a link with mass, joints of the links without mass before it on the same body."""
    spec = mujoco.MjSpec()
    option = spec.option
    option.timestep, option.integrator, option.gravity = step, mujoco.mjtIntegrator.mjINT_RK4, machine.gravity
    option.solver, option.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 1e-12
    off = mujoco.mjtDisableBit
    flags = off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS | off.mjDSBL_SENSOR | off.mjDSBL_AUTORESET
    flags |= off.mjDSBL_ISLAND  # islands cost more to find than they save here
    option.disableflags = flags | (0 if machine.loops or machine.gears else off.mjDSBL_CONSTRAINT)
    spec.compiler.degree, spec.compiler.inertiafromgeom = False, mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    bodies: dict[int, Any] = {WORLD: spec.worldbody}
    for k, link in enumerate(machine.links):
        if link.parent in bodies and link.parent != WORLD and machine.links[link.parent].mass == 0.0:
            body = bodies[link.parent]  # a second freedom of the same body
        else:
            body = bodies[link.parent].add_body(pos=link.place.position, quat=_quaternion(link.place.rotation))
        kind = mujoco.mjtJoint.mjJNT_SLIDE if link.slides else mujoco.mjtJoint.mjJNT_HINGE
        body.add_joint(name=f"j{k}", type=kind, axis=link.axis)
        bodies[k] = body
        if link.mass:
            body.mass, body.ipos, body.explicitinertial = link.mass, link.centre, True
            xx, xy, xz, _, yy, yz, _, _, zz = link.inertia.ravel()
            if xy == xz == yz == 0:
                body.inertia, body.iquat = np.maximum([xx, yy, zz], LEAST), [1, 0, 0, 0]
            else:
                body.fullinertia = [xx, yy, zz, xy, xz, yz]
    _add_loops(spec, machine, bodies)
    _add_springs(spec, machine, bodies)
    for joint, source, ratio in machine.gears:
        equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=f"j{joint}", name2=f"j{source}")
        equality.data[:2] = [0.0, ratio]
    for equality in spec.equalities:
        equality.solref, equality.solimp = [2 * step, 1.0], HARDEST
    return spec.compile()


def _site(body: Any, name: str, at: Array) -> str:
    body.add_site(name=name, pos=at)
    return name


def _add_loops(spec: Any, machine: Machine, bodies: dict[int, Any]) -> None:
    for k, loop in enumerate(machine.loops):
        names = _site(bodies[loop.first], f"a{k}", loop.at_first), _site(bodies[loop.second], f"b{k}", loop.at_second)
        kind, site = mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtObj.mjOBJ_SITE
        spec.add_equality(type=kind, objtype=site, name1=names[0], name2=names[1])


def _add_springs(spec: Any, machine: Machine, bodies: dict[int, Any]) -> None:
    for k, spring in enumerate(machine.springs):
        tendon = spec.add_tendon(name=f"t{k}", springlength=[spring.rest] * 2)
        tendon.stiffness, tendon.damping = [spring.k, 0, 0], [spring.c, 0, 0]
        tendon.wrap_site(_site(bodies[spring.first], f"s{k}", spring.at_first))
        tendon.wrap_site(_site(bodies[spring.second], f"e{k}", spring.at_second))


def _quaternion(rotation: Array) -> Array:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, rotation.ravel())
    return quaternion


def torques(machine: Machine) -> None:
    """Install the machine's torques, or none."""
    if not machine.laws:
        mujoco.set_mjcb_control(None)
        return
    compiler = shutil.which("gcc") or shutil.which("g++")
    if compiler is None:
        raise RuntimeError("no compiler for its torques")
    text = SOURCE.read_text() + mujoco.__version__
    made = ROOT / "build" / f"torques-{hashlib.sha256(text.encode()).hexdigest()[:12]}.so"
    if not made.exists():
        made.parent.mkdir(exist_ok=True)
        headers = ["-I", os.path.join(os.path.dirname(mujoco.__file__), "include")]
        flags = ["-O3", "-march=native", "-shared", "-fPIC", "-x", "c"]
        subprocess.run([compiler, *flags, *headers, str(SOURCE), "-lm", "-o", str(made)], check=True)
    library = ctypes.CDLL(str(made))
    table = np.array(machine.laws, dtype=float)
    library.torques_set(ctypes.c_int(len(table)), ctypes.c_void_p(table.ctypes.data))
    mujoco.set_mjcb_control(library.torques)


class Runner:
    """A machine in MuJoCo."""

    def __init__(self, case: Case, machine: Machine, step: float) -> None:
        self.case, self.machine = case, machine
        self.model = model_of(machine, step)
        self.data = mujoco.MjData(self.model)
        self.label = NAME
        soft = ", connect: solref 2 steps, solimp 0.9999, Newton" if machine.loops else ""
        soft = ", joint equalities: solref 2 steps, solimp 0.9999, Newton" if machine.gears else soft
        self.how = f"mj_step(nstep), RK4{soft}"

    def _reset(self) -> None:
        torques(self.machine)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = self.machine.start()

    def steps(self, count: int) -> None:
        """So many steps from the start."""
        self._reset()
        mujoco.mj_step(self.model, self.data, nstep=count)

    def record(self, count: int, every: int) -> Record:
        """The same with the rows that are compared."""
        self._reset()
        rows = [self.machine.start()]
        for _ in range(0, count, every):
            mujoco.mj_step(self.model, self.data, nstep=every)
            rows.append((self.data.qpos.copy(), self.data.qvel.copy()))
        return judged(self.case, self.machine, *(np.array(x) for x in zip(*rows, strict=True)))


def runners(case: Case, machine: Machine, step: float) -> list[Runner]:
    """One way."""
    return [Runner(case, machine, step)]


def ensemble(machine: Machine, batch: int, threads: int) -> Callable[[int], Any]:
    """Work to be timed: `rollout` of many runs, each from its own start."""
    model = model_of(machine, 1e-3)
    torques(machine)
    data = [mujoco.MjData(model) for _ in range(threads)]
    q, v = machine.start()
    states = np.zeros((batch, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    spread = np.linspace(0.9, 1.1, batch)
    states[:, 1 : 1 + len(q)], states[:, 1 + len(q) :] = q, v * spread[:, None]
    states[:, 1] *= spread
    pool = rollout.Rollout(nthread=threads)
    return lambda steps: pool.rollout(model, data, states, nstep=steps)
