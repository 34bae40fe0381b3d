"""What engines inherit, and what is solved for: nobody is given what he would have to refuse."""

from __future__ import annotations

import casadi as ca
import pytest

from kompono import Body, Ground, Subsystem
from kompono.library import Gravity, Revolute, Spherical, solids
from kompono.translate import translate
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.engines.engine import Engine
from kompono.translate.engines.posed import PosedEngine
from kompono.translate.engines.solved import SolvedEngine
from kompono.translate.engines.traced import TracedEngine


class Chain(Subsystem):
    def __init__(self) -> None:
        self.gravity, self.ground = Gravity(), Ground()
        self.links = [Body(solids.rod(mass=1.0, length=0.4, radius=0.01)) for _ in range(3)]
        self.ball = Spherical(self.ground, self.links[0].at(0, 0, 0.2))
        pairs = zip(self.links, self.links[1:], strict=False)
        self.pins = [Revolute(a.at(0, 0, -0.2), b.at(0, 0, 0.2), axis="y") for a, b in pairs]


def test_the_discrete_engine_has_no_projection() -> None:
    engine = translate(Chain(), engine="discrete").engine
    assert isinstance(engine, TracedEngine)
    assert not isinstance(engine, SolvedEngine)
    assert not {"project", "gap"} & set(engine.routines())
    assert {"kick", "drift", "placement"} <= set(engine.routines())


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_engines_that_solve_project(engine: str) -> None:
    translation = translate(Chain(), engine=engine)
    assert isinstance(translation.engine, SolvedEngine)
    assert "project" in translation.program.routines
    assert ("gap" in translation.program.routines) == translation.engine.strays == (engine == "absolute")


def test_the_engine_of_large_models_is_no_engine_of_the_whole() -> None:
    nested, whole = translate(Chain(), nested_from=1), translate(Chain())
    assert isinstance(nested.engine, Engine)
    assert not isinstance(nested.engine, PosedEngine)
    assert set(nested.engine.routines()) == set(whole.engine.routines())
    for name in ("placement", "rates", "normalize"):
        assert nested.program.routines[name].outputs == whole.program.routines[name].outputs


def test_unknowns_of_one_body_are_told_apart() -> None:
    model = Chain()
    body, other = model.links[:2]
    kinds = (Unknown.body, Unknown.wrench, Unknown.inner_wrench, Unknown.outer_wrench)
    assert len({kind(one) for kind in kinds for one in (body, other)}) == 8
    assert Unknown.wrench(body, 1) != Unknown.wrench(body)
    solution = Solution({Unknown.body(body): ca.SX.ones(6), Unknown.joint(model.ball): ca.SX.zeros(3)})
    assert solution.body(body).shape == (6, 1)
    assert solution.joint(model.ball).shape == (3, 1)
    with pytest.raises(KeyError):
        solution.rows(model.ball)
