"""Names of files made into names of Python: every member of a machine can be reached by a dot."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable


def identifier(name: str) -> str:
    """A name of letters, digits and underscores that begins with a letter and is no word of Python."""
    found = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    if not found or found[0].isdigit():
        found = f"n{found}"
    return f"{found}_" if keyword.iskeyword(found) else found


def camel(name: str) -> str:
    """The name of a class: `hip_joint 2` is HipJoint2."""
    words = re.split(r"[_\W]+", identifier(name))
    return "".join(word[:1].upper() + word[1:] for word in words if word) or "Machine"


class Names:
    """Identifiers of one component, each given once; the second of a kind gets its word, then a number, behind it."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def give(self, name: str, word: str = "") -> str:
        """An identifier for `name` that nobody has; `word` ("joint") tells it from others of that name."""
        base = identifier(name)
        tries = [base] + ([f"{base}_{word}"] if word and not base.endswith(word) else [])
        number = 2
        while tries[0] in self.taken:
            tries = tries[1:] or [f"{base}_{number}"]
            number += 1
        self.taken.add(tries[0])
        return tries[0]
