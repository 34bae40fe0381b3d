"""A number that changes between two processes: whichever way a law gets it, the second process uses the new one."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

WAYS = Path(__file__).with_name("kept_ways.py")
LAW = """
import functools, importlib, json, os, pickle, sys, threading, contextvars
from pathlib import Path
import casadi as ca
from kompono import Force, Wrench
import conf_{way} as conf
{before}

class Push(Force):
    def wrench(self, motion):
        return Wrench(ca.vertcat({expression}, 0, 0))
"""
THING = """
class Thing:
    def __init__(self):
        self.size = {size}
    def get(self):
        return self.size
    __call__ = get
    @property
    def doubled(self):
        return 2 * self.size
THINGS = [Thing(), Thing()]
THING = Thing()
"""
READ = {  # name: what the user's other module says, the size of the force, what stands before the force's class
    "a_number": ("SIZE = {size}", "conf.SIZE"),
    "a_dictionary": ("TABLE = {{'size': {size}}}", "conf.TABLE['size']"),
    "a_nested_dictionary": ("TABLE = {{'a': {{'b': [0.0, {size}]}}}}", "conf.TABLE['a']['b'][1]"),
    "a_class_attribute": ("class Settings:\n    size = {size}", "conf.Settings.size"),
    "a_dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass Data:\n    size: float\nDATA = Data({size})",
        "conf.DATA.size",
    ),
    "an_object": (THING, "conf.THING.size"),
    "a_method_of_an_object": (THING, "conf.THING.get()"),
    "a_property": (THING, "conf.THING.doubled / 2"),
    "a_list_of_objects": (THING, "conf.THINGS[1].size"),
    "a_callable_object": (THING, "conf.THING()"),
    "a_slotted_object": (
        "class Slot:\n    __slots__ = ('size',)\nSLOT = Slot()\nSLOT.size = {size}", "conf.SLOT.size",
    ),
    "a_module_in_a_package": ("import package.inner", "conf.package.inner.SIZE"),
    "an_imported_module": ("", "importlib.import_module('package.inner').SIZE"),
    "an_import_within": (
        "TABLE = [{size}]", "read()", "def read():\n    from conf_an_import_within import TABLE\n    return TABLE[0]",
    ),
    "an_import_from_a_package": ("", "read()", "def read():\n    from package.inner import SIZE\n    return SIZE"),
    "an_enum": ("import enum\nclass Level(enum.Enum):\n    HIGH = {size}", "conf.Level.HIGH.value"),
    "a_named_tuple": ("from collections import namedtuple\nPAIR = namedtuple('P', 'size')({size})", "conf.PAIR.size"),
    "an_array": ("import numpy\nARRAYS = {{1: numpy.array([0, {size}])}}", "conf.ARRAYS[1][1]"),
    "a_metaclass": (
        "class Meta(type):\n    @property\n    def size(cls):\n        return {size}\nclass Made(metaclass=Meta): ...",
        "conf.Made.size",
    ),
    "a_file": ("", "float(Path(sys.argv[1], 'size.txt').read_text())"),
    "a_json_file": ("", "json.loads(Path(sys.argv[1], 'size.json').read_text())['size']"),
    "a_pickle": ("", "pickle.loads(Path(sys.argv[1], 'size.pickle').read_bytes())"),
    "the_environment": ("", "float(os.environ['CART_SIZE'])"),
    "arguments_of_the_program": ("", "float(sys.argv[2])"),
    "a_generator": ("def numbers():\n    yield {size}", "next(conf.numbers())"),
    "a_name_made_up": ("TABLE = {{'size': {size}}}", "getattr(conf, 'TA' + 'BLE')['size']"),
    "code_from_text": ("TEXT = {{'size': '{size}'}}", "eval(conf.TEXT['size'])"),
    "a_cached_function": ("import functools\n@functools.cache\ndef size():\n    return {size}", "conf.size()"),
    "a_partial": ("import functools\nPART = functools.partial(lambda x: x, {size})", "conf.PART()"),
    "a_default_argument": ("def size(x={size}):\n    return x", "conf.size()"),
    "a_keyword_default": ("def size(*, x={size}):\n    return x", "conf.size()"),
    "a_closure": ("def outer(x):\n    return lambda: x\nINNER = outer({size})", "conf.INNER()"),
    "a_casadi_function": (
        "import casadi as ca\nx = ca.SX.sym('x')\nTABLE = {{1: ca.Function('f', [x], [{size} * x])}}",
        "conf.TABLE[1](1.0)",
    ),
    "a_context_variable": (
        "import contextvars\nVARIABLE = contextvars.ContextVar('size')\nVARIABLE.set({size})", "conf.VARIABLE.get()",
    ),
    "a_thread_local": ("import threading\nLOCAL = threading.local()\nLOCAL.size = {size}", "conf.LOCAL.size"),
    "a_weak_dictionary": (
        THING + "import weakref\nMAP = weakref.WeakKeyDictionary()\nMAP[THING] = {size}", "conf.MAP[conf.THING]",
    ),
    "the_owner": (THING, "self.owner.tag.size", "TAG = conf.THING"),
    "an_attribute_of_the_body": (THING, "self.second.body.tag.size", "TAG = conf.THING"),
}  # fmt: skip


def felt(folder: Path, size: float) -> dict[str, float]:
    """What the carts of a new process feel when the number is `size` wherever it can be read."""
    (folder / "package").mkdir(exist_ok=True)
    (folder / "package" / "__init__.py").touch()
    (folder / "package" / "inner.py").write_text(f"SIZE = {size}\n")
    (folder / "cfg.py").write_text(f"TABLE = {{'size': {size}}}\n")
    (folder / "size.txt").write_text(str(size))
    (folder / "size.json").write_text(json.dumps({"size": size}))
    (folder / "size.pickle").write_bytes(pickle.dumps(size))
    for way, (conf, expression, *before) in READ.items():
        (folder / f"conf_{way}.py").write_text(conf.format(size=size))
        (folder / f"{way}.py").write_text(LAW.format(way=way, expression=expression, before="".join(before)))
    names = {"CART_SIZE": str(size), "KOMPONO_CACHE": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(WAYS), str(folder), str(size), *READ]
    done = subprocess.run(command, env=os.environ | names, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> dict[float, dict[str, float]]:
    folder = tmp_path_factory.mktemp("ways")
    return {size: felt(folder, size) for size in (2.0, 3.0)}


@pytest.mark.parametrize("size", [2.0, 3.0])
def test_a_new_process_uses_the_number_as_it_is_now(processes: dict[float, dict[str, float]], size: float) -> None:
    ways = processes[size]
    assert len(ways) > 45
    assert {name: value for name, value in ways.items() if abs(value - size) > 0.01} == {}
