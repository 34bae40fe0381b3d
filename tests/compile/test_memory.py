"""Machine code in memory: once for all who use it, gone with the last of them, never before."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from compile.programs import circle, pendulum
from solve.machines import Oscillator, Pendulum

import kompono
from kompono.compile import Kernel, jit
from kompono.many.spread import KERNELS, Kernels

SIZES = Path("/proc/self/statm")


def kilobytes() -> float:
    """Memory of this process that is in use."""
    gc.collect()
    return int(SIZES.read_text().split()[1]) * 4.0


def growth(call, count: int, before: int) -> float:
    """Kilobytes a call leaves behind, when it was made often before."""
    for i in range(before):
        call(i)
    start = kilobytes()
    for i in range(count):
        call(before + i)
    return (kilobytes() - start) / count


def test_the_same_objects_are_in_memory_once() -> None:
    one, other = Kernel(pendulum()), Kernel(pendulum())
    runs = [kernel.fixed("rk4", 0.0, [0.0, 1.0], step=0.1) for kernel in (one, other, Kernel(circle()))]
    assert runs[0]._function is runs[1]._function
    assert runs[0]._function is not runs[2]._function


def test_code_is_gone_with_its_last_user_and_not_before() -> None:
    kernel = Kernel(circle())
    run = kernel.fixed("rk4", 0.0, [0.0, 1.0], step=1e-3)
    code = weakref.ref(run._function.owner)
    del kernel
    for _ in range(2 * jit.LIBRARIES):  # others come and go, with the linker that made it
        Kernel(pendulum()).evaluate("derivative", 0.0, [0.0, 2.0])
    assert code() is not None
    run.advance(1000)
    assert run.step == 1000
    del run
    assert code() is None


def test_a_thread_keeps_the_code_it_is_in() -> None:
    run = Kernel(circle()).fixed("rk4", 0.0, [0.0, 1.0], step=1e-4, every=1 << 40)
    code, stop, time = weakref.ref(run._function.owner), run.stop_flag, []
    worker = threading.Thread(target=lambda run: (run.advance(1 << 40), time.append(run.time)), args=(run,))
    worker.start()
    del run
    for _ in range(jit.LIBRARIES + 1):
        Kernel(pendulum()).evaluate("derivative", 0.0, [0.0, 2.0])
    gc.collect()
    assert code() is not None
    stop[0] = 1
    worker.join()
    assert time
    assert time[0] > 0
    del worker
    gc.collect()
    assert code() is None


@pytest.mark.skipif(not SIZES.exists(), reason="memory is measured on Linux")
def test_simulating_again_and_again_leaves_nothing_behind() -> None:
    model = Pendulum(angle=0.3)
    assert growth(lambda _: kompono.simulate(model, until=0.01), 100, 40) < 3.0


@pytest.mark.skipif(not SIZES.exists(), reason="memory is measured on Linux")
def test_models_that_are_gone_leave_nothing_behind() -> None:
    def other(i: int) -> None:
        kompono.simulate(Oscillator(k=4.0 + i), until=0.01, cache=False)

    assert growth(other, 40, 20) < 40.0  # of some 400 that the code generator takes for each


def test_a_worker_keeps_a_few_kernels() -> None:
    kernels, programs = Kernels(), [pendulum() for _ in range(KERNELS + 2)]
    made = [kernels.get(str(i), program) for i, program in enumerate(programs)]
    assert kernels.get(str(KERNELS + 1), programs[-1]) is made[-1]
    assert kernels.get("0", programs[0]) is not made[0]
    assert len(kernels.made) == KERNELS


def test_results_are_the_same_when_code_is_loaded_anew() -> None:
    angles = [kompono.simulate(Pendulum(angle=0.3), until=0.1)["pin.angle"] for _ in range(3)]
    np.testing.assert_array_equal(angles[0], angles[1])
    np.testing.assert_array_equal(angles[0], angles[2])
