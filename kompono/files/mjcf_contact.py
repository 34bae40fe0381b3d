"""What may touch in an MJCF model, by MuJoCo's own rules: which pairs of geoms meet, and with what friction.

Two geoms meet if they are on bodies that move against each other and are not parent and child, no `<exclude>` names
these bodies, and the type of one is in the affinity of the other; a `<pair>` meets whatever those say. Friction is that
of the geom of higher priority, else the greater one; with one dimension there is none. What is read are planes against
spheres, capsules, boxes and cylinders, and spheres against spheres; other pairs are counted in the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from kompono.errors import FileError
from kompono.files.assembly import Surfaced, Touching
from kompono.files.mjcf_names import Compiled
from kompono.files.place import Place
from kompono.files.touching import MOST_CONTACTS, SIZES, sizes_named

Pair = tuple[int, int, float]  # geoms, and the coefficient of friction


def touching(model: Compiled, contact: str) -> tuple[Touching, ...]:
    """The contacts of a model: none, those with planes ("ground"), or all that are read ("all")."""
    m = model.m
    able = np.flatnonzero((np.asarray(m.geom_contype) != 0) | (np.asarray(m.geom_conaffinity) != 0))
    if contact == "none" or model.disabled("CONTACT"):
        count = {"contact of geoms": len(able), "contact pairs": int(m.npair)}
        for what, number in count.items():
            if number and not model.disabled("CONTACT"):
                model.note("ignored", what, f'{number} of them; contact="ground" takes those with planes')
        return ()
    found: list[Touching] = []
    others: Counter[str] = Counter()
    for first, second, mu in _pairs(model, able, contact):
        one, other = (first, second) if _rank(model, first) <= _rank(model, second) else (second, first)
        kinds = model.word("mjtGeom", m.geom_type[one]), model.word("mjtGeom", m.geom_type[other])
        if kinds not in (*(("plane", kind) for kind in SIZES), ("sphere", "sphere")):
            others[" on ".join(kinds[::-1])] += 1
            continue
        found.append(Touching(_name(model, one, other), _surface(model, one), _surface(model, other), mu))
        if len(found) > MOST_CONTACTS:
            fix = 'Use contact="ground", or "none".'
            raise FileError(f"more than {MOST_CONTACTS} pairs of geoms may touch.", path=model.file, fix=fix)
    if not np.any(np.asarray(m.geom_type) == model.constant("mjtGeom", "mjGEOM_PLANE")):
        found += _on_assumed_ground(model, able, others)
    _tell(model, found, others, contact)
    return tuple(found)


def _on_assumed_ground(model: Compiled, able: np.ndarray, others: Counter[str]) -> Iterator[Touching]:
    """Contacts with the plane z = 0, for a model that has none: robots are stored without their surroundings."""
    model.note("assumed", "ground", "the plane z = 0, with friction 1 at least: the file has no plane")
    for geom in able.tolist():
        kind = model.word("mjtGeom", model.m.geom_type[geom])
        if model.m.body_weldid[model.m.geom_bodyid[geom]] == 0:
            continue
        if kind in SIZES:
            mu = max(1.0, float(model.m.geom_friction[geom, 0]))
            yield Touching(f"{_geom(model, geom)}_on_ground", Surfaced((), "plane"), _surface(model, geom), mu)
        else:
            others[f"{kind} on plane"] += 1


def _tell(model: Compiled, found: list[Touching], others: Counter[str], contact: str) -> None:
    for kinds, number in sorted(others.items()):
        model.note(
            "ignored",
            f"contact of {kinds}",
            f"{number} {'pair' if number == 1 else 'pairs'}: there is no such contact here",
        )
    if contact == "ground":
        model.note("ignored", "contact of geoms with each other", 'contact="all" takes that of spheres')
    if found:
        words = "rigid, no rebound; friction of turning and rolling, solref, solimp and margin are not taken"
        model.note("assumed", "contact", words)


def _pairs(model: Compiled, able: np.ndarray, contact: str) -> Iterator[Pair]:
    """Geoms that meet; with contact "ground" one of them is a plane."""
    m = model.m
    planes = np.flatnonzero(np.asarray(m.geom_type) == model.constant("mjtGeom", "mjGEOM_PLANE"))
    excluded = set(np.asarray(m.exclude_signature).tolist())
    given = {frozenset((int(m.pair_geom1[k]), int(m.pair_geom2[k]))): k for k in range(m.npair)}
    for k in given.values():
        first, second = int(m.pair_geom1[k]), int(m.pair_geom2[k])
        if contact == "all" or {first, second} & set(planes.tolist()):
            yield first, second, float(m.pair_friction[k, 0]) if m.pair_dim[k] > 1 else 0.0
    for first in able.tolist():
        meeting = able[able > first]
        types = (m.geom_contype[first] & m.geom_conaffinity[meeting]) | (
            m.geom_contype[meeting] & m.geom_conaffinity[first]
        )
        meeting = meeting[types != 0]
        if contact == "ground" and first not in planes:
            meeting = np.intersect1d(meeting, planes)
        for second in meeting.tolist():
            if frozenset((first, second)) not in given and _apart(model, first, second, excluded):
                yield first, second, _friction(model, first, second)


def _apart(model: Compiled, first: int, second: int, excluded: set[int]) -> bool:
    """Whether the bodies of two geoms may meet."""
    m = model.m
    one, two = int(m.geom_bodyid[first]), int(m.geom_bodyid[second])
    low, high = (one, two) if one < two else (two, one)
    if (low << 16) + high in excluded:
        return False
    held = [int(m.body_weldid[body]) for body in (one, two)]
    if held[0] == held[1]:
        return False
    above = [int(m.body_weldid[m.body_parentid[body]]) for body in held]
    family = 0 not in held and (held[0] == above[1] or held[1] == above[0])
    return not family or model.disabled("FILTERPARENT")


def _friction(model: Compiled, first: int, second: int) -> float:
    m = model.m
    rank = int(m.geom_priority[first]) - int(m.geom_priority[second])
    chosen: Iterable[int] = (first, second) if not rank else ((first,) if rank > 0 else (second,))
    if max(int(m.geom_condim[geom]) for geom in chosen) == 1:
        return 0.0
    return max(float(m.geom_friction[geom, 0]) for geom in chosen)


def _rank(model: Compiled, geom: int) -> int:
    """Planes first, then spheres: what bounds before what is bounded."""
    kind = model.word("mjtGeom", model.m.geom_type[geom])
    return {"plane": 0, "sphere": 1}.get(kind, 2)


def _name(model: Compiled, one: int, other: int) -> str:
    return f"{_geom(model, other)}_on_{_geom(model, one)}"


def _geom(model: Compiled, geom: int) -> str:
    """The name of a geom; without one, that of its body and its number there."""
    found = model.name("GEOM", geom, "")
    if found != str(geom):
        return found
    body = int(model.m.geom_bodyid[geom])
    return f"{model.body(body)}_geom{geom - int(model.m.body_geomadr[body]) + 1}"


def _surface(model: Compiled, geom: int) -> Surfaced:
    m = model.m
    body, kind = int(m.geom_bodyid[geom]), model.word("mjtGeom", m.geom_type[geom])
    place = Place.of(m.geom_pos[geom], m.geom_quat[geom])
    return Surfaced((model.body(body),), kind, place, sizes_named(kind, m.geom_size[geom].tolist()))
