"""Contact of links of a URDF with the ground, the plane z = 0 of the world.

Files of this kind know no ground, and which links may touch each other is said elsewhere, if at all: neither is read.
Friction is that of `<contact><lateral_friction value="..."/>`, as PyBullet has it, else 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kompono.errors import FileError
from kompono.files.assembly import Noted, Surfaced, Touching
from kompono.files.urdf_origin import origin
from kompono.files.xml import Node

FRICTION = 1.0


@dataclass(frozen=True)
class Meeting:
    """Contacts, and what the table says of them."""

    found: tuple[Touching, ...]
    notes: tuple[Noted, ...]


def without_ground(links: Sequence[Node]) -> Meeting:
    """No contacts."""
    count = sum(len(link.all("collision")) for link in links)
    told = f'{count} of them; contact="ground" takes those it can'
    return Meeting((), (Noted("ignored", "collision shapes", told),) if count else ())


def on_the_ground(links: Sequence[Node]) -> Meeting:
    """Contacts of all boxes, cylinders, capsules and balls with the ground."""
    found: list[Touching] = []
    others: Counter[str] = Counter()
    for link in links:
        shapes = link.all("collision")
        for number, collision in enumerate(shapes, 1):
            surface = _surface(link, collision)
            if isinstance(surface, str):
                others[surface] += 1
                continue
            name = f"{link.named('name')}{number if len(shapes) > 1 else ''}_on_ground"
            ground = Surfaced((), "plane")
            found.append(Touching(name, ground, surface, _friction(link), where=collision.where))
    notes = [
        Noted("ignored", f"contact of collision shapes of the kind {kind}", f"{count}: there is no such contact here")
        for kind, count in others.items()
    ]
    notes.append(
        Noted("assumed", "contact", f"the ground is z = 0; rigid, friction {FRICTION:g} where the file has none")
    )
    return Meeting(tuple(found), tuple(notes))


def _surface(link: Node, collision: Node) -> Surfaced | str:
    """What touches; the kind of it where there is none."""
    geometry = collision.find("geometry")
    if geometry is None or not geometry.children:
        return "nothing"
    node = geometry.children[0]
    if node.tag == "box":
        sizes = tuple((node.numbers(node.get("size"), 3) / 2).tolist())
    elif node.tag in ("cylinder", "capsule"):
        sizes = node.number("radius"), node.number("length") / 2
    elif node.tag == "sphere":
        sizes = (node.number("radius"),)
    else:
        return node.tag
    if min(sizes) < 0 or not max(sizes):
        raise FileError(f"link {link.named('name')}: a collision shape of no size.", path=collision.where)
    return Surfaced((link.named("name"),), node.tag, origin(collision), sizes)


def _friction(link: Node) -> float:
    contact = link.find("contact")
    lateral = None if contact is None else contact.find("lateral_friction")
    return FRICTION if lateral is None else lateral.number("value")
