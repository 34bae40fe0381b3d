"""Small CAD assemblies as Simscape Multibody XML, written for tests: bars of 0.2 m with holes at both ends."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

HEAD = '<?xml version="1.0"?><SimscapeMultibodyImportXML version="2.0" xmlns="urn:mathworks:SimscapeMultibody:import">'


def part(name: str, mass: float = 0.5, extra: str = "") -> str:
    """A bar along x, 200 mm long, its frame at one end."""
    return (
        f'<Part name="{name}" uid="{name}_prt"><MassProperties><Mass>{mass}</Mass><CenterOfMass>100 0 0</CenterOfMass>'
        f"<Inertia>20 1700 1705 0 0 3</Inertia></MassProperties>{extra}</Part>"
    )


def turned(angle: float, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> str:
    """A transform: turned about z, moved by mm."""
    c, s = np.cos(angle), np.sin(angle)
    rotation = " ".join(repr(float(v)) for v in (c, -s, 0, s, c, 0, 0, 0, 1))
    return f"<Transform><Rotation>{rotation}</Rotation><Translation>{x!r} {y!r} {z!r}</Translation></Transform>"


def instance(name: str, of: str, transform: str, inner: str = "", *, grounded: bool = False) -> str:
    """An instance of a part or assembly."""
    held = ' grounded="true"' if grounded else ""
    return f'<Instance name="{name}" uid="u{name}" entityUid="{of}"{held}>{transform}{inner}</Instance>'


def side(kind: str, path: Iterable[str], point: str, axis: str = "0 0 1") -> str:
    """A geometry of a mate, in the frame of its part."""
    names = "".join(f"<Uid>u{name}</Uid>" for name in path)
    where = f"<InstancePath>{names}</InstancePath>" if names else ""
    return (
        f'<ConstraintGeometry geomType="{kind}">{where}<Position>{point}</Position><Axis>{axis}</Axis>'
        "</ConstraintGeometry>"
    )


def mate(tag: str, name: str, *sides: str) -> str:
    """A mate."""
    return f'<{tag} name="{name}">{"".join(sides)}</{tag}>'


def hinge(name: str, one: tuple[str, ...], first: str, two: tuple[str, ...], second: str) -> str:
    """What CAD systems make a hinge of: two axes and two faces."""
    return mate(
        "Concentric", f"{name}_axis", side("cylinder", one, first, "0 0 7"), side("cylinder", two, second)
    ) + mate("Coincident", f"{name}_face", side("plane", one, first, "0 0 2"), side("plane", two, second, "0 0 -1"))


def drawing(tree: str, mates: str, parts: str, assemblies: str = "") -> str:
    """A whole file."""
    return (
        f'{HEAD}<ModelUnits mass="kg" length="mm"/><RootAssembly name="linkage" uid="root"><InstanceTree>{tree}'
        f"</InstanceTree><Constraints>{mates}</Constraints></RootAssembly><Assemblies>{assemblies}</Assemblies>"
        f"<Parts>{parts}</Parts></SimscapeMultibodyImportXML>"
    )


def four_bar(miss: float = 0.0) -> str:
    """A parallelogram of equal bars in the plane of z, drawn at 1 rad; one bar is drawn `miss` mm off."""
    x, y = 200 * np.cos(1.0), 200 * np.sin(1.0)
    tree = (
        instance("base", "bar_prt", turned(0.0), grounded=True)
        + instance("left", "bar_prt", turned(1.0, 0.0, 0.0, miss))
        + instance("right", "bar_prt", turned(1.0, 200.0, 0.0))
        + instance("top", "bar_prt", turned(0.0, float(x), float(y)))
    )
    mates = (
        hinge("a", ("base",), "0 0 0", ("left",), "0 0 0")
        + hinge("b", ("base",), "200 0 0", ("right",), "0 0 0")
        + hinge("c", ("left",), "200 0 0", ("top",), "0 0 0")
        + hinge("d", ("right",), "200 0 0", ("top",), "200 0 0")
    )
    return drawing(tree, mates, part("bar"))


def two_arms() -> str:
    """A base with the same arm of two bars on it twice."""
    inner = instance("upper", "bar_prt", turned(0.0), grounded=True) + instance("fore", "bar_prt", turned(0.5, 200.0))
    arm = '<Assembly name="arm" uid="arm_asm"><Constraints>' + hinge(
        "elbow", ("upper",), "200 0 0", ("fore",), "0 0 0"
    ) + "</Constraints></Assembly>"  # fmt: skip
    tree = (
        instance("base", "bar_prt", turned(0.0), grounded=True)
        + instance("one", "arm_asm", turned(0.4), inner)
        + instance("two", "arm_asm", turned(-0.7, 200.0), inner)
    )
    mates = hinge("s", ("base",), "0 0 0", ("one", "upper"), "0 0 0") + hinge(
        "t", ("base",), "200 0 0", ("two", "upper"), "0 0 0"
    )
    return drawing(tree, mates, part("bar"), arm)
