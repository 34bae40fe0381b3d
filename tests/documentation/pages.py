"""The pages of the documentation and the fenced blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[^\n]*)\n(?P<code>.*?)^ *(?P=fence)$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the line of its fence, its language (empty: none given) and its text."""

    page: Path
    line: int
    language: str
    code: str

    @property
    def name(self) -> str:
        """Page and line, for the name of a test."""
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    """All blocks, or those of the given languages, in order of pages and lines."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            language = (match["language"].split() or [""])[0]
            if not languages or language in languages:
                code = re.sub(rf"^{match['indent']}", "", match["code"], flags=re.MULTILINE)
                found.append(Block(page, text.count("\n", 0, match.start()) + 1, language, code))
    return found
