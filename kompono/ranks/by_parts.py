"""Closed parts on ranks: the first process runs the model, the others keep parts of it and answer.

Any model with closed parts can be spread so, with loops inside and through the ports, events and modes. What a part
answers does not depend on where it is asked, so the bits are those of closed parts in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kompono.elsewhere.ranks import on_ranks, placed
from kompono.ranks.vigil import Vigil
from kompono.ranks.world import World
from kompono.result import Result


def run_by_parts(
    parts: Sequence[Any],
    place: dict[str, Any],
    lead: Callable[[dict[str, Any]], Result],
    plain: Callable[[Result], Any],
) -> Result:
    """What `lead` makes of a simulation with `parts` kept by others, the same on all processes; `plain` is the result
    as it can be sent.
    """
    world, found = World(), list[Result]()
    World.dismissed = True  # these processes end by their own words
    homes = placed([part.path for part in parts], world.size, place)
    own = [path for path, rank in homes.items() if rank == world.rank]
    vigil = Vigil(world, ", ".join(own) or ("the model" if world.leads else "nothing"))

    def leading(hosts: dict[str, Any]) -> Any:
        result = lead(hosts)
        result.statistics.update(ranks=world.size, homes=homes)
        found.append(result)
        return plain(result)

    with vigil:
        word = on_ranks(parts, place, leading)
    return found[0] if found else word()
