"""Which model a file means, how it is built, and how a wrong file is blamed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kompono.edges.cli.find import LoadError, examples
from kompono.edges.cli.load import load
from kompono.errors import ModelError, RunError

Write = Callable[..., str]

SWINGS = """
class DoubleSwing(Subsystem):
    def __init__(self, *, links=2, name="a", pair=(1, 2)):
        self.links, self.label_, self.pair = links, name, pair
        self.damping = Parameter(0.1)
        self.inner = Part()

class Part(Subsystem):
    def __init__(self):
        self.stiffness = Parameter(5.0)

class Heavy(DoubleSwing):
    def __init__(self, mass, **others):
        super().__init__(**others)
        self.mass = mass

def build(size=3):
    return DoubleSwing(links=size)

ready = Part()
number = 7
"""


def test_without_a_name_the_class_called_like_the_file_is_taken(model_file: Write) -> None:
    assert load(model_file(SWINGS), {}).name == "DoubleSwing"


def test_else_the_last_class_defined_in_it(model_file: Write) -> None:
    other = model_file("class Base(Subsystem): pass\n", "base_part.py")
    assert load(other, {}).name == "Base"
    text = "from base_part import Base as Imported\nclass A(Subsystem): pass\nclass B(A): pass\nImported2 = Imported\n"
    loaded = load(model_file(text), {})
    assert loaded.name == "B"
    assert str(Path(other).resolve().parent) not in sys.path


def test_a_module_level_model_wins(model_file: Write) -> None:
    loaded = load(model_file(SWINGS + "model = Heavy(3.0, links=5)\n"), {})
    assert type(loaded.model).__name__ == "Heavy"
    assert loaded.name == "double_swing"


def test_a_file_of_instances_only(model_file: Write) -> None:
    assert load(model_file("class A(Subsystem): pass\nfirst = A()\ndel A\n"), {}).name == "first"


@pytest.mark.parametrize(
    ("name", "kind"), [("Part", "Part"), ("build", "DoubleSwing"), ("ready", "Part"), ("DoubleSwing", "DoubleSwing")]
)
def test_a_name_may_be_a_class_a_function_or_a_model(model_file: Write, name: str, kind: str) -> None:
    assert type(load(f"{model_file(SWINGS)}:{name}", {}).model).__name__ == kind


def test_settings_reach_the_constructor_as_literals(model_file: Write) -> None:
    loaded = load(model_file(SWINGS), {"links": "5", "name": "long one", "pair": "(3, 4)"})
    model = loaded.model
    assert (model.links, model.label_, model.pair) == (5, "long one", (3, 4))  # pyright: ignore
    assert load(f"{model_file(SWINGS)}:build", {"size": "4"}).model.links == 4  # pyright: ignore


def test_keywords_passed_on_to_a_base_class_count(model_file: Write) -> None:
    model = load(f"{model_file(SWINGS)}:Heavy", {"mass": "2.5", "links": "6"}).model
    assert (model.mass, model.links) == (2.5, 6)  # pyright: ignore


def test_settings_reach_tunable_parameters(model_file: Write) -> None:
    loaded = load(model_file(SWINGS), {"inner.stiffness": "7", "damping": "1e-3", "links": "3"})
    assert loaded.parameters == {"inner.stiffness": 7.0, "damping": 1e-3}


def test_unknown_settings_list_what_can_be_set(model_file: Write) -> None:
    with pytest.raises(RunError) as caught:
        load(model_file(SWINGS), {"inner.stifness": "7"})
    text = str(caught.value)
    assert "DoubleSwing has no parameter 'inner.stifness'" in text
    assert "Did you mean 'inner.stiffness'" in text
    assert "Can be set: links, name, pair, damping, inner.stiffness." in text
    with pytest.raises(RunError, match=r"Part has no parameter 'x'. Can be set: stiffness\."):
        load(f"{model_file(SWINGS)}:ready", {"x": "7"})
    with pytest.raises(RunError, match="is a number, not 'stiff'"):
        load(model_file(SWINGS), {"damping": "stiff"})


def test_a_missing_required_argument_is_asked_for(model_file: Write) -> None:
    with pytest.raises(RunError, match=r"Heavy needs a value for mass. Try: --set mass=VALUE"):
        load(f"{model_file(SWINGS)}:Heavy", {})


def test_wrong_names_are_explained(model_file: Write) -> None:
    file = model_file(SWINGS)
    with pytest.raises(LoadError, match=r"has no 'DoubleSwin'. Did you mean 'DoubleSwing'"):
        load(f"{file}:DoubleSwin", {})
    with pytest.raises(LoadError, match="number is no model but a int"):
        load(f"{file}:number", {})
    with pytest.raises(LoadError, match=r"there is no file 'nowhere\.py'"):
        load("nowhere.py:A", {})
    with pytest.raises(LoadError, match="defines no Subsystem"):
        load(model_file("x = 1\n", "empty.py"), {})


# -- modules and the examples that come with Kompono


def test_a_module_is_named_by_dots(model_file: Write) -> None:
    loaded = load("kompono.examples.car:DamperBench", {"damping": "5e3"})
    assert (loaded.name, type(loaded.model).__module__) == ("DamperBench", "kompono.examples.car")
    assert load("kompono.examples.reference.four_bar", {}).name == "FourBar"


def test_a_module_may_lie_in_the_current_folder(model_file: Write) -> None:
    model_file(SWINGS, "swings_of_mine.py")
    paths = list(sys.path)
    assert load("swings_of_mine:Part", {}).name == "Part"
    assert sys.path == paths
    sys.modules.pop("swings_of_mine")


def test_an_example_is_found_where_there_is_no_such_file(model_file: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert type(load("examples/car.py", {}).model).__module__ == "kompono.examples.car"
    assert re.match(r"kompono: examples/car\.py is not in this folder; taken from .*car\.py\n", capsys.readouterr().err)
    assert load("examples/reference/bennett.py:Bennett", {}, quiet=True).name == "Bennett"
    assert capsys.readouterr() == ("", "")


def test_a_file_of_the_current_folder_comes_before_an_example(model_file: Write) -> None:
    Path("examples").mkdir()
    assert load(model_file(SWINGS, "examples/car.py"), {"mass": "1"}).name == "Heavy"


def test_every_example_can_be_built(model_file: Write) -> None:
    assert len(examples()) >= 16
    for file in examples():
        assert load(file, {}, quiet=True).model.walk()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("examples/cra.py", r"there is no file 'examples/cra\.py'\. Did you mean 'examples/car\.py'"),
        ("examples/../examples/car.py", "there is no file"),
        ("examples/__init__.py", "there is no file"),
        ("nowhere.at.all:A", r"there is no file and no module 'nowhere\.at\.all'"),
        ("kuka", r"there is no file and no module 'kuka'\. Did you mean 'examples/kuka\.py'"),
        ("sys", "there is no file and no module 'sys'"),
        ("a folder/car", "there is no file 'a folder/car'"),
        ("kompono.examples", "defines no Subsystem"),
    ],
)
def test_what_is_nowhere_is_told(model_file: Write, target: str, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        load(target, {})


def test_a_module_that_breaks_is_blamed_by_line(model_file: Write) -> None:
    Path("pack").mkdir()
    model_file("x = 1 / 0\n", "pack/broken_inside.py")
    with pytest.raises(LoadError, match="ZeroDivisionError") as caught:
        load("pack.broken_inside", {})
    assert "broken_inside.py:3: x = 1 / 0" in str(caught.value)
    Path("torn").mkdir()
    model_file("import no_such_module\n", "torn/__init__.py")
    with pytest.raises(LoadError, match=r"cannot load torn\.inside: No module named 'no_such_module'"):
        load("torn.inside", {})


@pytest.mark.parametrize(
    ("text", "cause", "line"),
    [
        ("x = 1 / 0\n", "ZeroDivisionError: division by zero", ":3: x = 1 / 0"),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'", ":3: import no_such"),
        ("class A(Subsystem:\n", "SyntaxError:", ":3: class A(Subsystem:"),
        ("class A(Subsystem):\n  def __init__(self): None.x\n", "AttributeError:", ":4: def __init__(self): None.x"),
        ("import sys; sys.exit(1)\n", "SystemExit: 1", ":3: import sys"),
    ],
)
def test_a_broken_file_is_blamed_by_line(model_file: Write, text: str, cause: str, line: str) -> None:
    with pytest.raises(LoadError) as caught:
        load(model_file(text, "broken.py"), {})
    assert str(caught.value).startswith("cannot load broken.py: " + cause)
    assert f"broken.py{line}" in str(caught.value)


def test_a_model_error_keeps_its_kind_and_gains_the_line(model_file: Write) -> None:
    text = "from kompono.errors import ModelError\nclass A(Subsystem):\n  def __init__(self):\n    self.x = bad()\n"
    text += "def bad(): raise ModelError('mass is negative', path='a.b', fix='Give a mass.')\n"
    with pytest.raises(ModelError) as caught:
        load(model_file(text, "wrong.py"), {})
    assert str(caught.value) == "a.b: mass is negative Give a mass."
    assert "wrong.py:7: def bad()" in caught.value.__notes__[0]
