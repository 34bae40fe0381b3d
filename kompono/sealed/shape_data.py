"""A shape as plain data for JSON, and back. What comes from a file is checked field by field: whoever is trusted may
still have made a mistake.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from kompono.errors import SealedError
from kompono.model.law import IMPACTS
from kompono.model.shape import Shape as Picture
from kompono.sealed.shape import (
    GROUPS,
    PLACED,
    Described,
    LawShape,
    LawShapes,
    NetworkShape,
    PinShape,
    Port,
    Published,
    Quantity,
    Shape,
    Variant,
)

PLANAR = 2  # the kind of units that slip in a plane
MANY = 100_000  # numbers of a column, functions, channels
_NAME = re.compile(r"[A-Za-z_]\w{0,63}(\.\w{1,64}){0,15}", re.ASCII)


def to_data(shape: Shape) -> dict[str, Any]:
    """A shape as JSON has it, without starts."""

    def quantities(listed: tuple[Quantity, ...]) -> list[Any]:
        return [{"name": q.name, "unit": q.unit, "default": float(q.default)} for q in listed]

    rates = {"rates": [list(rate) for rate in shape.rates]} if shape.rates else {}  # older files have none
    return {
        "name": shape.name,
        "ports": [_port_data(port) for port in shape.ports],
        "parameters": quantities(shape.parameters),
        "inputs": quantities(shape.inputs),
        "channels": [{"name": c.name, "unit": c.unit, "angle": c.angle} for c in shape.channels],
        "outputs": list(shape.outputs),
        "events": shape.events,
        "variants": [_variant_data(variant) for variant in shape.variants],
        "pictures": {port: [_picture_data(p) for p in listed] for port, listed in shape.pictures.items()},
        **rates,
        **({"networks": [_network_data(network) for network in shape.networks]} if shape.networks else {}),
    }


def _port_data(port: Port) -> dict[str, Any]:
    told = {"on": port.on, "joined": port.joined, "touched": port.touched}
    return {"name": port.name, "scale": float(port.scale), **{key: value for key, value in told.items() if value}}


def _network_data(network: NetworkShape) -> dict[str, Any]:
    pins = [
        {"names": list(p.names), "across": list(p.across), "through": list(p.through), "by_through": p.by_through}
        for p in network.pins
    ]
    return {"pins": pins, "entries": [list(entry) for entry in network.entries]}


def _variant_data(variant: Variant) -> dict[str, Any]:
    functions = {
        name: {
            "groups": list(f.groups), "signals": list(f.signals), "number": f.number, "arguments": f.arguments,
            "results": f.results, "zeros": list(f.zeros),
        }
        for name, f in variant.functions.items()
    }  # fmt: skip
    return {
        "base": variant.base, "ports": list(variant.ports), "size": variant.size, "functions": functions,
        "coordinates": variant.coordinates, "speeds": variant.speeds, "given": list(variant.given),
        "settles": variant.settles, "laws": _laws_data(variant.laws),
        **({"counted": variant.counted} if variant.counted else {}),
        **({"flying": list(variant.flying)} if variant.flying else {}),
    }  # fmt: skip


def _laws_data(laws: LawShapes) -> dict[str, Any]:
    units = [
        {"name": u.name, "kind": u.kind, "row": u.row, "contact": u.contact, "first": u.first, "count": u.count,
         "modes": list(u.modes), "level": u.level, "impact": u.impact}
        for u in laws.units
    ]  # fmt: skip
    return {"units": units, "rows": laws.rows, "measures": laws.measures, "handed": [list(h) for h in laws.handed]}


def _picture_data(picture: Picture) -> dict[str, Any]:
    sizes = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in picture.sizes.items()}
    return {
        "kind": picture.kind, "sizes": sizes, "position": list(picture.position),
        "orientation": list(picture.orientation), "colour": picture.colour, "opacity": picture.opacity,
    }  # fmt: skip


# -- from plain data


class _Wrong(ValueError):
    """Something in the data is not what it should be."""


def from_data(data: Any, path: str, fix: str = "Ask its author to seal it again.") -> Shape:
    """A shape from JSON, checked."""
    try:
        return _checked(_shape(data))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SealedError(f"what it says about itself is not in order ({error}).", path=path, fix=fix) from error


def _shape(data: Any) -> Shape:
    names = "name ports parameters inputs channels outputs events variants pictures"
    later = [name for name in ("rates", "networks") if isinstance(data, dict) and name in data]
    data = _fields(data, " ".join([names, *later]))
    return Shape(
        name=_name(data["name"]),
        ports=tuple(_port(entry) for entry in _listed(data["ports"])),
        parameters=tuple(_quantity(entry) for entry in _listed(data["parameters"])),
        inputs=tuple(_quantity(entry) for entry in _listed(data["inputs"])),
        channels=tuple(_channel(entry) for entry in _listed(data["channels"])),
        outputs=tuple(_name(entry) for entry in _listed(data["outputs"])),
        events=_count(data["events"]),
        rates=tuple(_rate(entry) for entry in _listed(data.get("rates", []))),
        networks=tuple(_network(entry) for entry in _listed(data.get("networks", []))),
        variants=tuple(_variant(entry) for entry in _listed(data["variants"])),
        pictures={_name(k): tuple(map(_picture, _listed(v))) for k, v in _mapping(data["pictures"]).items()},
    )


def _checked(shape: Shape) -> Shape:
    """What must hold between the fields."""
    ports = {port.name for port in shape.ports}
    pins = [name for pin in shape.pins for name in pin.names]
    signals = {q.name for q in (*shape.parameters, *shape.inputs)}
    if len({*pins, *signals, *ports}) < len(pins) + len(signals) + len(ports):
        raise _Wrong("a name twice")
    signals |= {pin.name for pin in shape.pins}
    for kind, listed in (("port", shape.ports), ("signal", (*shape.parameters, *shape.inputs))):
        if len({entry.name for entry in listed}) < len(listed):
            raise _Wrong(f"a {kind} twice")
    if any(port.on not in ports - {port.name, *(other.name for other in shape.ports if other.on)}
           for port in shape.ports if port.on):  # fmt: skip
        raise _Wrong("a port on another one")
    if not shape.variants or len({variant.entry for variant in shape.variants}) < len(shape.variants):
        raise _Wrong("no variant, or one twice")
    if len({*shape.rates}) < len(shape.rates) or any(len(shape.rates) > v.modes for v in shape.variants):
        raise _Wrong("rates")
    if not {*shape.outputs} <= {channel.name for channel in shape.channels} or not {*shape.pictures} <= ports:
        raise _Wrong("an output or a picture of nothing")
    for variant in shape.variants:
        if {*variant.ports} != ports or len(variant.ports) != len(ports):
            raise _Wrong("ports of a variant")
        if variant.base not in (None, PLACED) and variant.ports[0] != variant.base:
            raise _Wrong("a base that is not the first port")
        if not {*variant.flying} <= ports - {variant.base} or (variant.flying and variant.base == PLACED):
            raise _Wrong("ports that are flying")
        if any(place >= variant.modes for unit in variant.laws.units for place in unit.modes):
            raise _Wrong("modes of a law")
        if variant.modes < 0 or any(place >= variant.coordinates + variant.speeds for place in variant.given):
            raise _Wrong("the size of x")
        if variant.laws.units and variant.functions["law_guards"].results != 2 * len(variant.laws.units):
            raise _Wrong("guards of laws without their slopes, as of an older version")
        units, silent = variant.laws.units, variant.functions["law_guards"].zeros if variant.laws.units else ()
        if any(unit.kind == PLANAR and len(units) + k in silent for k, unit in enumerate(units)):
            raise _Wrong("slip in a plane without its speed beside the guards, as of an older version")
        for k, network in enumerate(shape.networks):
            described = variant.functions.get(f"network_{k}")
            if described is None or described.results != len(network.pins) + len(network.entries):
                raise _Wrong(f"the answer of network {k}")
        for name, described in variant.functions.items():
            _check_function(name, described, variant, signals)
    return shape


def _check_function(name: str, described: Described, variant: Variant, signals: set[str]) -> None:
    sizes = variant.sizes()
    if list(described.groups) != [group for group in GROUPS if group in described.groups]:
        raise _Wrong(f"groups of {name}")
    if not {*described.signals} <= signals:
        raise _Wrong(f"signals of {name}")
    if described.arguments != sum(sizes[group] for group in described.groups) + len(described.signals):
        raise _Wrong(f"arguments of {name}")
    if (described.number < 0) != (described.results == 0) or any(k >= described.results for k in described.zeros):
        raise _Wrong(f"results of {name}")


def _fields(data: Any, names: str) -> dict[str, Any]:
    if not isinstance(data, dict) or set(data) != set(names.split()):
        raise _Wrong(f"fields other than {names}")
    return data


def _mapping(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict) or len(data) > MANY:
        raise _Wrong("no mapping")
    return data


def _listed(data: Any) -> list[Any]:
    if not isinstance(data, list) or len(data) > MANY:
        raise _Wrong("no list, or too long")
    return data


def _name(data: Any) -> str:
    if not isinstance(data, str) or not _NAME.fullmatch(data):
        raise _Wrong("a name")
    return data


def _text(data: Any) -> str:
    if not isinstance(data, str) or not data.isprintable() or len(data) > 40:
        raise _Wrong("a text")
    return data


def _number(data: Any) -> float:
    if not isinstance(data, int | float) or isinstance(data, bool) or not math.isfinite(data):
        raise _Wrong("a number")
    return float(data)


def _count(data: Any, least: int = 0) -> int:
    if not isinstance(data, int) or isinstance(data, bool) or not least <= data <= MANY:
        raise _Wrong("a count")
    return data


def _port(data: Any) -> Port:
    later = [name for name in ("on", "joined", "touched") if isinstance(data, dict) and name in data]
    data = _fields(data, " ".join(["name scale", *later]))
    if _number(data["scale"]) <= 0:
        raise _Wrong("a scale")
    joined, touched = data.get("joined", False), data.get("touched", False)
    if not isinstance(joined, bool) or not isinstance(touched, bool):
        raise _Wrong("what holds a port")
    return Port(_name(data["name"]), _number(data["scale"]), _name(data["on"]) if "on" in data else "", joined, touched)


def _rate(data: Any) -> tuple[float, float]:
    every, offset = (_number(entry) for entry in _listed(data))
    if every <= 0 or offset < 0:
        raise _Wrong("a rate")
    return every, offset


def _network(data: Any) -> NetworkShape:
    data = _fields(data, "pins entries")
    pins = tuple(map(_pin, _listed(data["pins"])))
    entries = tuple((_count(row), _count(column)) for row, column in map(_listed, _listed(data["entries"])))
    if not pins or len({*entries}) < len(entries) or any(k >= len(pins) for entry in entries for k in entry):
        raise _Wrong("a network")
    return NetworkShape(pins, entries)


def _pin(data: Any) -> PinShape:
    data = _fields(data, "names across through by_through")
    names = tuple(map(_name, _listed(data["names"])))
    (across, across_unit), (through, through_unit) = _listed(data["across"]), _listed(data["through"])
    if not names or not isinstance(data["by_through"], bool) or across == through:
        raise _Wrong("a pin")
    across, through = (_name(across), _text(across_unit)), (_name(through), _text(through_unit))
    return PinShape(names, across, through, data["by_through"])


def _quantity(data: Any) -> Quantity:
    data = _fields(data, "name unit default")
    return Quantity(_name(data["name"]), _text(data["unit"]), _number(data["default"]))


def _channel(data: Any) -> Published:
    data = _fields(data, "name unit angle")
    if not isinstance(data["angle"], bool):
        raise _Wrong("an angle")
    return Published(_name(data["name"]), _text(data["unit"]), data["angle"])


def _variant(data: Any) -> Variant:
    later = [name for name in ("counted", "flying") if isinstance(data, dict) and name in data]
    data = _fields(data, " ".join(["base ports size functions coordinates speeds given settles laws", *later]))
    base = data["base"] if data["base"] in (None, PLACED) else _name(data["base"])
    functions = {_name(key): _described(entry) for key, entry in _mapping(data["functions"]).items()}
    if not isinstance(data["settles"], bool):
        raise _Wrong("settles")
    return Variant(
        base, tuple(map(_name, _listed(data["ports"]))), _count(data["size"]), functions,
        coordinates=_count(data["coordinates"]), speeds=_count(data["speeds"]),
        given=tuple(map(_count, _listed(data["given"]))), settles=data["settles"], laws=_laws(data["laws"]),
        counted=_count(data.get("counted", 0)), flying=tuple(map(_name, _listed(data.get("flying", [])))),
    )  # fmt: skip


def _laws(data: Any) -> LawShapes:
    data = _fields(data, "units rows measures handed")
    units = tuple(map(_unit, _listed(data["units"])))
    rows, measures = _count(data["rows"]), _count(data["measures"])
    handed = tuple((_count(first), _count(count, -1)) for first, count in map(_listed, _listed(data["handed"])))
    for number, unit in enumerate(units):
        if unit.row + (unit.kind == 2) >= rows or unit.first + unit.count > measures or unit.contact >= number:
            raise _Wrong("rows of a law")
    if any(first + abs(count) > measures for first, count in handed):
        raise _Wrong("measures of a law")
    return LawShapes(units, rows, measures, handed)


def _unit(data: Any) -> LawShape:
    data = _fields(data, "name kind row contact first count modes level impact")
    kind, level, impact = _count(data["kind"]), _text(data["level"]), _text(data["impact"])
    if kind > 2 or level not in ("", "position", "speed") or impact not in IMPACTS:
        raise _Wrong("a unit of a law")
    modes = tuple(map(_count, _listed(data["modes"])))
    if len(modes) != (3 if kind == 2 else 1):
        raise _Wrong("modes of a law")
    return LawShape(
        _name(data["name"]) if data["name"] else "", kind, _count(data["row"]), _count(data["contact"], -1),
        _count(data["first"]), _count(data["count"]), modes, level, impact,
    )  # fmt: skip


def _described(data: Any) -> Described:
    data = _fields(data, "groups signals number arguments results zeros")
    return Described(
        groups=tuple(map(_name, _listed(data["groups"]))),
        signals=tuple(map(_name, _listed(data["signals"]))),
        number=_count(data["number"], -1),
        arguments=_count(data["arguments"]),
        results=_count(data["results"]),
        zeros=tuple(map(_count, _listed(data["zeros"]))),
    )


def _picture(data: Any) -> Picture:
    data = _fields(data, "kind sizes position orientation colour opacity")
    colour = data["colour"]
    if colour is not None and not (isinstance(colour, str) and re.fullmatch("#[0-9a-f]{6}", colour)):
        raise _Wrong("a colour")
    place, turn = (tuple(map(_number, _listed(data[key]))) for key in ("position", "orientation"))
    if len(place) != 3 or len(turn) != 4:
        raise _Wrong("a place")
    sizes = {_name(key): _plain(value, 4) for key, value in _mapping(data["sizes"]).items()}
    return Picture(_name(data["kind"]), sizes, place, turn, colour, _number(data["opacity"]))


def _plain(data: Any, depth: int) -> Any:
    """Numbers and lists of such; no texts, which could name files."""
    if isinstance(data, list) and depth:
        return [_plain(entry, depth - 1) for entry in _listed(data)]
    return _number(data)
