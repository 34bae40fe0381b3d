"""An error says where: a path of the model, or what was called and in which line."""

from __future__ import annotations

import inspect
import pickle

import pytest
from solve.machines import Pendulum

from kompono import Body, Ground, KomponoError, ModelError, RunError, Subsystem, euler, evaluate, simulate
from kompono.library import Revolute, solids
from kompono.result import UnknownChannel


def here() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


class Machine(Subsystem):
    def __init__(self) -> None:
        self.ground = Ground()
        self.rod = Body(solids.rod(mass=1.0, length="long", radius=0.1))  # type: ignore[arg-type]


def caught(call) -> KomponoError:
    with pytest.raises(KomponoError) as error:
        call()
    return error.value


def test_an_element_is_named_by_its_class_and_the_line_of_its_declaration() -> None:
    error = caught(lambda: Revolute(Ground(), Ground(), axis="up"))
    assert error.path == "Revolute"
    assert str(error).endswith(f"(test_errors.py, line {here() - 2})")


def test_a_function_called_inside_a_component_says_the_line_in_there() -> None:
    error = caught(Machine)
    line = inspect.getsourcelines(Machine.__init__)[1] + 2
    assert error.path == "solids.rod"
    assert error.line == f"test_errors.py, line {line}"


def test_functions_and_requests_are_named() -> None:
    for call, name in (
        (lambda: euler("ab", 1), "euler"),
        (lambda: simulate(Pendulum(), until="soon"), "simulate"),  # type: ignore[arg-type]
        (lambda: evaluate(Pendulum(), time="soon"), "evaluate"),  # type: ignore[arg-type]
        (lambda: simulate(Pendulum(), untill=1.0), "simulate"),  # type: ignore[call-arg]
    ):
        error = caught(call)
        assert error.path == name
        assert error.fix
        assert "test_errors.py, line" in error.line


def test_arguments_that_do_not_exist_are_ours_to_explain() -> None:
    assert "Did you mean 'until'" in caught(lambda: simulate(Pendulum(), untill=1.0)).fix  # type: ignore[call-arg]
    assert "It takes first, second" in caught(lambda: Revolute(Ground())).fix  # type: ignore[call-arg]


def test_a_type_error_inside_a_constructor_of_the_user_stays_one() -> None:
    class Wrong(Subsystem):
        def __init__(self) -> None:
            len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len"):
        Wrong()


def test_a_member_that_cannot_be_is_named_with_the_line_that_assigns_it() -> None:
    class Heavy(Pendulum):
        def __init__(self) -> None:
            super().__init__()
            self.weight = Body(mass=1.0, inertia=(1, 1, 5))

    error = caught(Heavy)
    assert error.path == "Heavy.weight"
    assert error.line == f"test_errors.py, line {here() - 4}"


def test_a_path_of_the_model_needs_no_line_of_the_run() -> None:
    error = caught(lambda: simulate(Pendulum(), until=1.0, initial={"pin.angle": "x"}))  # type: ignore[dict-item]
    assert error.path == "pin.angle"
    assert error.line == ""


def test_what_users_raise_themselves_is_as_they_wrote_it() -> None:
    assert str(ModelError("too heavy.", fix="Use less.")) == "too heavy. Use less."


def test_errors_travel_between_processes_word_by_word() -> None:
    for error in (caught(Machine), RunError("no.", path="a.b", fix="Yes."), UnknownChannel("none.", fix="One.")):
        other = pickle.loads(pickle.dumps(error))
        assert type(other) is type(error)
        assert (str(other), other.path, other.fix, other.line) == (str(error), error.path, error.fix, error.line)
