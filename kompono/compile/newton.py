"""Native code of the solvers of nonlinear networks: a step is repeated until it is done, on all lanes.

What is done stays as it is, so it does not matter to a lane how long the others take. The graph of such a function,
which others evaluate, has all the steps there may be.
"""

from __future__ import annotations

from kompono.compile.emit import Array, Code
from kompono.compile.lanes import Lanes
from kompono.compile.lower import called_symbol
from kompono.translate.declared.network_newton import MOST
from kompono.translate.repeated import solver_of

VERSION = 1  # of the code, for the cache


def is_newton(name: str) -> bool:
    """Whether a closed function is such a solver."""
    return solver_of(name) is not None


def define(name: str, lanes: Lanes) -> str:
    """The solver of this name."""
    found = solver_of(name)
    assert found is not None
    size, others, step = found
    width, called = lanes.count, called_symbol(step, lanes)
    code = Code()
    code.say(f"%given = alloca [{(size + 1 + others) * width} x double], align {8 * width}")
    code.say(f"%taken = alloca [{(size + 1) * width} x double], align {8 * width}")
    given, taken, out = Array(code, "%given"), Array(code, "%taken"), Array(code, "%out")
    code.copy(given, Array(code, "%in"), (size + 1 + others) * width)
    with code.loop(MOST):
        code.say(f"call void @{called}(ptr %given, ptr %taken)")
        code.copy(given, taken, (size + 1) * width)
        least = code.variable("double", 1.0)
        for lane in range(width):
            least.set(code.math("minnum", least.get(), taken[size * width + lane]))
        code.leave(least.get() > 0.5)
    code.copy(out, given, (size + 1) * width)
    return f"declare void @{called}(ptr, ptr)\n" + code.define(
        f"void @{called_symbol(name, lanes)}(ptr %in, ptr %out) nounwind"
    )
