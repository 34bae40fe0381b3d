"""Programs made by hand, small enough to know their answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import casadi as ca

from kompono.translate.program import Call, Program, Routine


def kernel(build: Callable[[ca.SX], ca.SX], size: int) -> tuple[str, ca.Function]:
    """A kernel from `size` scalars, named by the hash of its instructions."""
    x = ca.SX.sym("x", size)
    function = ca.Function("kernel", [x], [ca.densify(ca.SX(build(x)))])
    return hashlib.sha256(function.serialize().encode()).hexdigest()[:24], function


def single(
    name: str, build: Callable[[ca.SX], ca.SX], sizes: Sequence[int], output: str
) -> tuple[Routine, dict[str, ca.Function]]:
    """A routine of one call; `sizes` of time, state, inputs, parameters."""
    key, function = kernel(build, sum(sizes))
    first, count = sum(sizes), function.nnz_out(0)
    slots = tuple(range(first, first + count))
    inputs = tuple(zip(("time", "state", "inputs", "parameters"), sizes, strict=True))
    call = Call(key, tuple(range(first)), slots, "model")
    return Routine(name, inputs, ((output, count),), (call,), (slots,), first + count), {key: function}


def model(
    n: int,
    derivative: Callable[[ca.SX, ca.SX, ca.SX, ca.SX], Sequence],
    project: Callable[[ca.SX, ca.SX, ca.SX, ca.SX], Sequence] | None = None,
    outputs: Callable[[ca.SX, ca.SX, ca.SX, ca.SX], Sequence] | None = None,
    inputs: int = 0,
    parameters: int = 0,
    guards: Callable[[ca.SX, ca.SX, ca.SX, ca.SX], Sequence] | None = None,
    switches: Sequence[Callable[[ca.SX, ca.SX, ca.SX, ca.SX], Sequence]] = (),
) -> Program:
    """A program of one call per routine; each function maps (time, state, inputs, parameters) to a list."""
    sizes = (1, n, inputs, parameters)
    routines, kernels = {}, {}
    for name, build, output in (
        ("derivative", derivative, "rate"), ("project", project, "state"), ("outputs", outputs, "channels"),
        ("guards", guards, "values"), *((f"switch_{k}", switch, "state") for k, switch in enumerate(switches)),
    ):  # fmt: skip
        if build is None:
            continue

        def column(x: ca.SX, build=build) -> ca.SX:
            return ca.vertcat(*build(x[0], x[1 : 1 + n], x[1 + n : 1 + n + inputs], x[1 + n + inputs :]))

        routines[name], more = single(name, column, sizes, output)
        kernels |= more
    return Program(
        kernels=kernels,
        routines=routines,
        coordinates=tuple(f"q{i}" for i in range(n // 2)),
        speeds=tuple(f"v{i}" for i in range(n - n // 2)),
        inputs=tuple(f"u{i}" for i in range(inputs)),
        parameters=tuple(f"p{i}" for i in range(parameters)),
    )


def pendulum(**more) -> Program:
    """phi'' = -sin(phi); energy as the only channel."""
    return model(
        2,
        lambda t, y, u, p: [y[1], -ca.sin(y[0])],
        outputs=lambda t, y, u, p: [y[1] ** 2 / 2 - ca.cos(y[0]), t],
        **more,
    )


def circle() -> Program:
    """x' = -y, y' = x, projected to the unit circle."""
    return model(
        2,
        lambda t, y, u, p: [-y[1], y[0]],
        project=lambda t, y, u, p: [y[0] / ca.norm_2(y), y[1] / ca.norm_2(y)],
    )


def chain(links: int, constants: bool = True) -> Program:
    """A routine of many calls of two kernels, some alternating, some in a row; results out of order, with constants."""
    n = 2 * links
    twist, twister = kernel(lambda x: ca.vertcat(ca.sin(x[0]) * x[1] + x[2], x[1] - 0.1 * x[0] * x[2]), 3)
    mix, mixer = kernel(lambda x: ca.vertcat(x[0] * x[1], x[0] - x[1], ca.tanh(x[0])), 2)
    first = 1 + n + 1 + 1  # time, state, one input, one parameter
    calls, slot, carry = [], first, 1 + n + 1
    for i in range(links):
        calls.append(Call(twist, (1 + 2 * i, 2 + 2 * i, carry), (slot, slot + 1), f"link{i}"))
        carry, slot = slot, slot + 2
        if i % 3 == 0:
            calls.append(Call(mix, (slot - 1, 1 + n), (slot, slot + 1, slot + 2), f"mix{i}"))
            slot += 3
    results: list[int | float] = [first + i for i in range(n)][::-1]
    if constants:
        results[1], results[3], results[-1] = 2.5, -0.0, 1
    extra: tuple[int | float, ...] = (0, 1.5, first)
    inputs = (("time", 1), ("state", n), ("inputs", 1), ("parameters", 1))
    routine = Routine(
        "derivative",
        inputs,
        (("rate", n), ("extra", 3)),
        tuple(calls),
        (tuple(results), extra),
        slot,
    )
    names = [f"x{i}" for i in range(links)]
    return Program({twist: twister, mix: mixer}, {"derivative": routine}, tuple(names), tuple(names), ("u",), ("p",))


def tangle(size: int, length: int) -> Program:
    """A long straight line of everything: values used soon and late, branches, shared products."""

    def rate(t: ca.SX, y: ca.SX, u: ca.SX, p: ca.SX) -> list[ca.SX]:
        values = [y[i] for i in range(size)]
        truth = values[0] < values[1]
        for k in range(length):
            a, b, c = values[-1], values[(7 * k) % len(values)], values[(3 * k) // 4]
            if k % 11 == 5:
                truth = ca.logic_or(ca.logic_and(truth, a < b), c < 0)
            more = [a * b + c, a - b * c, ca.sin(a) + ca.cos(a), ca.if_else(truth, a, b), ca.tanh(a * a - y[k % size])]
            values.append(more[k % 5] / 2)
        return [*values[-size + 2 :], ca.if_else(truth, 1, values[size]), y[0]]

    return model(size, rate)
