"""Commands on the pages of the documentation, and whether what they print is what the page shows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from documentation.pages import Block


@dataclass(frozen=True)
class Command:
    """A line after `$ ` in a `console` block, and the lines of output the page shows below it."""

    line: str
    shown: list[str]


def commands(block: Block) -> list[Command]:
    """The commands of a block, in order; a line that ends with a backslash goes on in the next."""
    found: list[Command] = []
    for line in re.sub(r"\\\n\s*", " ", block.code).splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif line.strip():
            found[-1].shown.append(line)
    return found


def missing(command: Command, printed: str) -> str:
    """The first line shown that was not printed in this order, others between them allowed; empty if none is missing.

    `...` in a line stands for anything.
    """
    output = printed.splitlines()
    for line in command.shown:
        pattern = re.escape(line).replace(r"\.\.\.", ".*")
        while output and not re.fullmatch(pattern, output[0].rstrip()):
            output.pop(0)
        if not output:
            return line
    return ""
