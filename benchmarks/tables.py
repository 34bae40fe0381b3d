"""A table on the terminal that is Markdown too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; the first column to the left, numbers to the right."""
    print(f"\n{title}\n\n{table(head, rows)}")


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The lines of a table; the first column to the left, numbers to the right."""
    texts = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[k]) for row in texts) for k in range(len(head))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = []
    for row in (texts[0], rule, *texts[1:]):
        first, *others = row
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
