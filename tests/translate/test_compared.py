"""What stands in two expressions that are compared comes to the same bits in both: `raw == limited` tells who limits a
command, in laws of forces and in signals, with numbers that are put in after tracing, and in kernels that are shared.
"""

from __future__ import annotations

import importlib
from typing import Any

import casadi as ca
import pytest
from translate.test_lengths import kernels, traced
from translate.test_numbers import Shelf, translated

from kompono import Body, Ground, Output, Subsystem, simulate
from kompono.library import Gravity, JointEffort, Revolute

__all__ = ["traced"]  # a fixture


class Limited(Subsystem):
    """A double pendulum with a torque that is weak while a command is limited. Parts of the command stand in the limit,
    too; `how` that is asked: by an inequality, which rounding does not matter to, in the law, or in a signal.
    """

    def __init__(self, how: str, quotients: bool, gain: float = 7.3, lag: float = 3.7) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.a, self.b = (Body(mass=mass, inertia=(0.01, 0.02, 0.03)) for mass in (1.0, 0.7))
        self.p = Revolute(self.ground, self.a.at(0, 0, 0.5), axis="y", angle=0.7)
        self.r = Revolute(self.a.at(0, 0, -0.5), self.b.at(0, 0, 0.4), axis="y", angle=0.3)
        q, v, x, y = self.p.q[0], self.p.v[0], self.r.q[0], self.r.v[0]
        part = q / lag * v - x / 1.3 if quotients else 3.1 * v
        raw = part + gain * q
        limit = 0.9 * ca.sin(v / lag if quotients else part) + 1.2 - (y / 1.3 if quotients else 0)

        def weak(free: Any) -> Any:
            return ca.if_else(free, -raw, -0.1 * raw)

        if how != "inequality":
            self.command = Output(ca.fmin(raw, limit))
        if how == "signal":
            self.torque = Output(weak(raw == ca.SX(self.command)))
        free = raw <= limit if how == "inequality" else raw == ca.SX(self.command)
        self.effort = JointEffort(self.p, ca.SX(self.torque) if how == "signal" else weak(free))


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize("quotients", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_a_command_is_what_a_limit_leaves_of_it(
    engine: str, quotients: bool, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shared:
        module: Any = importlib.import_module("kompono.translate.translate")
        monkeypatch.setitem(module.translated.__wrapped__.__kwdefaults__, "inline_limit", 0)

    def swing(how: str) -> Any:
        return simulate(Limited(how, quotients), until=0.3, step=1e-3, engine=engine, cache=False)["p.angle"]

    known = swing("inequality")
    assert swing("law") == pytest.approx(known, abs=1e-12)
    assert swing("signal") == pytest.approx(known, abs=1e-12)


@pytest.mark.parametrize("how", ["law", "signal"])
def test_numbers_that_are_compared_are_put_in_after_tracing(how: str, traced: set[str]) -> None:
    shelf = Shelf()
    first = kernels(translated(Limited(how, True), shelf))
    new = kernels(translated(Limited(how, True, 7.31, 3.72), None))
    traced.clear()
    assert kernels(translated(Limited(how, True, 7.31, 3.72), shelf)) == new != first
    assert not traced


class Own(Output):
    """A signal of a user's own class, which keeps its numbers: so does all that is compared with it."""


def test_a_signal_of_a_users_class_is_compared_by_its_numbers() -> None:
    def swing(how: str) -> Any:
        model = Limited(how, False)
        if how != "inequality":
            model.shown = Own(0.37 * ca.SX(model.command))
        return simulate(model, until=0.3, step=1e-3, cache=False)["p.angle"]

    assert swing("law") == pytest.approx(swing("inequality"), abs=1e-12)
