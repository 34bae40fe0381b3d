"""Code of a sealed file: as CasADi functions, on any number of lanes, and linked into the code of an owner."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from sealed.files import changed, functions, run, write
from sealed.test_lifted import readable

from kompono.compile import Kernel, assembler, cache, sealed, targets
from kompono.compile.lanes import Lanes
from kompono.compile.lower import called_symbol
from kompono.compile.numbers import filled
from kompono.errors import CompileError, SealedError
from kompono.sealed import SealedCode, archive, keys, load_sealed, trust
from kompono.sealing import seal_functions
from kompono.translate.program import Call, Program, Routine


@pytest.fixture
def code(me: keys.Identity, tmp_path: Path) -> SealedCode:
    return load_sealed(write(tmp_path / "spring.part"))


def test_casadi_is_answered_by_the_machine_code(code: SealedCode) -> None:
    for name, function in functions().items():
        x = np.linspace(-0.4, 0.9, function.nnz_in())
        assert np.allclose(code.function(None, name)(x).full(), function(x).full(), rtol=1e-15, atol=0)
    with pytest.raises(SealedError, match="no function 'secret'"):
        code.function(None, "secret")
    with pytest.raises(SealedError, match="cannot be entered by 'end'"):
        code.function("end", "move")
    with pytest.raises(SealedError, match="3 numbers was given 2"):
        code.evaluate(code.manifest.shape.variant(None).functions["move"].number, [1.0, 2.0])


@pytest.mark.parametrize("target", sorted(targets.TARGETS))
def test_code_of_every_target_this_machine_has(me: keys.Identity, tmp_path: Path, target: str) -> None:
    if targets.fitting([target]) is None:
        pytest.skip("made for another machine")
    code = load_sealed(write(tmp_path / "spring.part", targets=[target]))
    assert list(code.manifest.targets) == [target]
    for name, function in functions().items():
        x = np.linspace(0.4, 0.9, function.nnz_in())
        assert np.allclose(code.function(None, name)(x).full(), function(x).full(), rtol=1e-14, atol=0)


def test_derivatives_are_differences(code: SealedCode) -> None:
    x = ca.SX.sym("x", 3)
    inside = code.function(None, "move").call([2 * x], False, True)[0]
    slope = ca.Function("slope", [x], [ca.jacobian(inside, x)])([0.1, 0.2, 0.3])
    exact = ca.Function("exact", [x], [ca.jacobian(functions()["move"](2 * x), x)])([0.1, 0.2, 0.3])
    assert np.allclose(slope.full(), exact.full(), atol=1e-6)


def owner(inner: ca.Function) -> Program:
    """rate = (2 x1, 2 (force - c x1) / m) by a call of `inner`, with the damping as parameter."""
    x = ca.SX.sym("x", 4)  # time, two states, parameter
    rate = 2 * inner.call([x[1:]], False, True)[0]
    name = f"of_{inner.name()}"  # kernels with one name have one content
    kernels = {name: ca.Function(name, [x], [rate])}
    inputs = (("time", 1), ("state", 2), ("inputs", 0), ("parameters", 1))
    routine = Routine("derivative", inputs, (("rate", 2),), (Call(name, (0, 1, 2, 3), (4, 5)),), ((4, 5),), 6)
    return Program(kernels, {"derivative": routine}, ("a",), ("b",), (), ("damping",))


def test_an_owner_links_it(code: SealedCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "cache"))
    rows = np.random.default_rng(0).normal(size=(5, 2)) + 13
    results = []
    x = ca.SX.sym("x", 3)
    plain = ca.Function("open", [x], [functions()["resolve"](x)], {"never_inline": True})
    for inner in (code.function(None, "resolve"), plain):
        kernel = Kernel(owner(inner))
        results.append([kernel.evaluate("derivative", 0.0, row, parameters=[2.5])[0] for row in rows])
        kept = [path.read_bytes() for path in cache.directory().iterdir()]
        shown = [data for data in kept if readable(data, 13.23)]
        assert kept
        assert bool(shown) == (inner is plain)  # numbers of others are not written down
    assert np.allclose(*results, rtol=1e-14)


def test_a_part_that_is_not_loaded_here(code: SealedCode, monkeypatch: pytest.MonkeyPatch) -> None:
    program = owner(code.function(None, "resolve"))
    monkeypatch.setattr("kompono.sealed.code._loaded", {})
    with pytest.raises(CompileError, match="not loaded in this process"):
        Kernel(program, cache=False).evaluate("derivative", 0.0, [13.0, 0.0], parameters=[2.5])


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_any_number_of_lanes(code: SealedCode, lanes: int) -> None:
    number = code.manifest.shape.variant(None).functions["resolve"].number
    name = f"{code.stem}_{number}"
    columns = np.random.default_rng(0).normal(size=(3, lanes)) + 13
    result = np.zeros((2, lanes))
    between = [filled(assembler.assemble(text), shape) for text, shape in sealed.joints([name], Lanes(lanes))]
    data = [*sealed.objects([name], Lanes(lanes)).values(), *between]
    run(data, called_symbol(name, Lanes(lanes)), [columns, result])
    exact = np.array([code.evaluate(number, column) for column in columns.T]).T
    assert np.array_equal(result, exact)


def test_sealed_code_is_not_sealed_again(code: SealedCode, tmp_path: Path) -> None:
    x = ca.SX.sym("x", 3)
    inner = code.function(None, "resolve")
    outer = ca.Function("outer", [x], [inner.call([x], False, True)[0]])
    shape = code.manifest.shape
    described = {"resolve": shape.variants[0].functions["resolve"]}
    shape = replace(shape, variants=(replace(shape.variants[0], functions=described, start=(0.0, 0.0)),))
    with pytest.raises(CompileError, match="sealed already"):
        seal_functions([{"resolve": outer}], shape, tmp_path / "outer.part")


# -- numbers locked for a recipient


def test_numbers_are_locked_for_recipients(me: keys.Identity, tmp_path: Path) -> None:
    grace = keys.new_identity("Grace")
    path = write(tmp_path / "both.part", recipients=[grace.card, me.card])
    code = load_sealed(path)
    assert 13.23 in np.frombuffer(code.numbers)
    data = path.read_bytes()
    assert not [value for value in (*np.frombuffer(code.numbers), -7.25) if np.float64(value).tobytes() in data]
    with pytest.raises(SealedError, match=r"locked for .*, your key is"):
        load_sealed(write(tmp_path / "hers.part", recipients=[grace.card]))


def test_without_a_key_nothing_opens(tmp_path: Path) -> None:
    author, grace = keys.new_identity("Author"), keys.new_identity("Grace")
    trust.add(author.card.author, author.name)
    with pytest.raises(SealedError, match="you have no key"):
        load_sealed(write(tmp_path / "hers.part", author, recipients=[grace.card]))


def test_numbers_of_another_part_do_not_open(me: keys.Identity, tmp_path: Path) -> None:
    one = write(tmp_path / "one.part", recipients=[me.card], targets=["x86_64-linux", "aarch64-linux"]).read_bytes()
    other = tmp_path / "other.part"
    write(other, recipients=[me.card])
    box = next((name, data) for name, data in archive.unpack(one, "").items() if name.startswith("numbers/"))
    other.write_bytes(changed(other.read_bytes(), lambda manifest, members: members.update([box]), me))
    with pytest.raises(SealedError, match="do not open"):
        load_sealed(other)
