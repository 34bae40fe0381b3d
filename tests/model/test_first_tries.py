"""What a beginner gets wrong: a sentence with a fix, no traceback from inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kompono import Body, Ground, ModelError, Subsystem
from kompono.library import Contact, Revolute, solids


class Bench(Subsystem):
    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.ground, self.ball = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
        self.pin = Revolute(self.ground, self.ball.at(0, 0, 1), axis="y")
        self.what = make(self)


def against(surface: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda m: Contact(surface(m.ground), m.ball.point())


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (against(lambda g: g.height(lambda x, y: {}[x])), r"raised KeyError"),
        (against(lambda g: g.curve(lambda phi: phi.radius)), r"raised AttributeError"),
        (against(lambda g: g.profile(lambda: 0.0)), r"raised TypeError"),
        (against(lambda g: g.profile(lambda x: 0 if x < 1 else 1)), r"Python decision"),
        (against(lambda g: g.curve(lambda phi: -0.1)), r"-0.1 is not positive"),
        (lambda m: m.add("left.wheel", Ground()), r"is no name"),
        (lambda m: m.add("", Ground()), r"is no name"),
        (lambda m: m.add(3, Ground()), r"is no name"),
    ],
)
def test_it_is_refused_in_words(make: Callable[[Any], Any], what: str) -> None:
    with pytest.raises(ModelError, match=what) as caught:
        Bench(make)
    assert caught.value.path
    assert caught.value.fix


def test_a_coordinate_that_does_not_exist_is_told_from_those_that_do() -> None:
    with pytest.raises(AttributeError, match=r"'angel'; of its motion it has angle, angle\.rate"):
        Bench(lambda m: m.pin.angel)
    assert not hasattr(Bench(lambda m: None).pin, "angel")
