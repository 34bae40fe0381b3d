"""Code for graphics processors: its text is taken by who assembles it, and moves as native runs do where threads are
counted through on this processor.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from kompono import Body, Ground, Parameter, RunError, Simulation, Subsystem, simulate
from kompono.compile.block import Block, layout
from kompono.compile.gpu import ENTRY, gpu_module, kernel_text
from kompono.compile.law_state import HOLDS
from kompono.library import Gravity, Revolute, SpringDamper, solids

STEP, STEPS = 1e-3, 200
THREAD = """@kompono_number = global i64 0
define i64 @kompono_thread() {
  %k = load i64, ptr @kompono_number
  ret i64 %k
}
"""


class FourBar(Subsystem):
    """A loop with redundant conditions and a spring whose stiffness is a parameter."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.stiffness = Ground(), Gravity(), Parameter(50.0, unit="N/m")
        sizes = {"crank": 0.4, "coupler": 1.0, "rocker": 0.8}
        self.crank, self.coupler, self.rocker = (
            Body(solids.rod(mass=1, length=x, radius=0.01)) for x in sizes.values()
        )
        self.main = Revolute(self.ground, self.crank.at(0, 0, -0.2), axis="y", angle=1.0)
        self.pin1 = Revolute(self.crank.at(0, 0, 0.2), self.coupler.at(0, 0, -0.5), axis="y")
        self.pin2 = Revolute(self.coupler.at(0, 0, 0.5), self.rocker.at(0, 0, 0.4), axis="y")
        self.foot = Revolute(self.ground.at(1, 0, 0), self.rocker.at(0, 0, -0.4), axis="y")
        self.spring = SpringDamper(self.ground.at(0, 0, 1), self.coupler, k=self.stiffness, c=1.0, rest=0.5)


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return Simulation(FourBar(), native=False)


def test_the_text_is_taken(simulation: Simulation, tmp_path: Path) -> None:
    made = gpu_module(simulation.program, "rk4", simulation.program.routines["outputs"])
    assert f".visible .entry {ENTRY}(" in made.text
    assert ".target sm_80" in made.text
    assert set(re.findall(r"\.extern \.func .*? (__nv_\w+)", made.text)) == {"__nv_sin", "__nv_cos", "__nv_atan2"}
    if assembler := shutil.which("ptxas"):
        file = tmp_path / "made.ptx"
        file.write_text(made.text, encoding="utf-8")
        subprocess.run([assembler, "-arch=sm_80", "-c", str(file), "-o", str(tmp_path / "made.cubin")], check=True)


def counted_through(simulation: Simulation, starts: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """States (runs, n) after all steps: the kernel, called for one thread after the other."""
    program = simulation.program
    text = kernel_text(program, "rk4", program.routines["outputs"]).replace("declare i64 @kompono_thread()\n", THREAD)
    for name, given in (("sin", "double"), ("cos", "double"), ("atan2", "double, double")):
        text = re.sub(rf"declare double @__nv_{name}\(.*\n", f"declare double @{name}({given})\n", text)
        text = text.replace(f"@__nv_{name}(", f"@{name}(")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
    jit = llvm.create_mcjit_compiler(module, machine)
    jit.finalize_object()
    words = 1 + ctypes.sizeof(Block) // 8
    memory, room = np.zeros((len(starts), words)), layout(program)
    vectors = np.zeros((len(starts), room["end"][0]))
    table = parameters.copy()
    stop, times = np.zeros(1), np.zeros(1)
    for k, start in enumerate(starts):
        block = Block.from_address(memory[k, 1:].ctypes.data)
        block.memory, block.parameters = vectors[k].ctypes.data, table[k].ctypes.data
        block.stop, block.table_times, block.table_values = stop.ctypes.data, times.ctypes.data, times.ctypes.data
        block.table_rows, block.record_count, block.recorded, block.every = 1, 2**62, 2**62, 2**40
        block.projecting, block.acting, block.guard_checks, block.budget = 1, HOLDS, 1, STEPS
        block.step_size, block.old_error = STEP, 1e-4
        vectors[k, room["lost"][0]] = np.inf
        vectors[k, room["state"][0] :][: len(start)] = start
    number = ctypes.c_int64.from_address(jit.get_global_value_address("kompono_number"))
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(jit.get_function_address(ENTRY))
    for number.value in range(len(starts) + 3):  # threads beyond the runs do nothing
        run(memory[0, 1:].ctypes.data, 8 * words, len(starts))
    assert not memory[:, 0].any()
    return vectors[:, room["state"][0] :][:, : starts.shape[1]]


def test_it_moves_as_native_runs_do(simulation: Simulation) -> None:
    stiffness = np.array([[20.0], [50.0], [110.0]])
    starts = np.array([simulation.assemble({"main.angle": angle}).state for angle in (0.9, 1.0, 1.2)])
    found = counted_through(simulation, starts, stiffness)
    for k, angle in enumerate((0.9, 1.0, 1.2)):
        run = {"until": STEP * STEPS, "step": STEP, "method": "rk4"}
        native = simulate(FourBar(), initial={"main.angle": angle}, parameters={"stiffness": stiffness[k, 0]}, **run)
        wanted = [native[name][-1] for name in simulation.program.coordinates]
        assert found[k, : len(wanted)] == pytest.approx(np.array(wanted), abs=1e-12)


def test_what_threads_cannot_do_is_refused(simulation: Simulation) -> None:
    with pytest.raises(RunError, match="dopri5 chooses its own"):
        gpu_module(simulation.program, "dopri5", simulation.program.routines["outputs"])
