"""XML of strangers: read into plain nodes that know their line; entities, endless depth and sizes are refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

import numpy as np

from kompono.errors import FileError

LARGEST = 64_000_000  # bytes of a file
MOST_TAGS = 500_000
DEEPEST = 200


class Node:
    """An element: tag, attributes, text, children, and where it stands."""

    def __init__(self, tag: str, attributes: dict[str, str], file: str, line: int) -> None:
        self.tag, self.attributes, self.file, self.line = tag, attributes, file, line
        self.text = ""
        self.children: list[Node] = []

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.file}:{self.line}"

    def get(self, name: str, default: str | None = None) -> str | None:
        """An attribute."""
        return self.attributes.get(name, default)

    def named(self, name: str) -> str:
        """An attribute that must be there."""
        if not self.attributes.get(name):
            raise FileError(f"<{self.tag}> has no {name}.", path=self.where)
        return self.attributes[name]

    def find(self, tag: str) -> Node | None:
        """The first child of a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def needed(self, tag: str) -> Node:
        """The first child of a tag, which must be there."""
        found = self.find(tag)
        if found is None:
            raise FileError(f"<{self.tag}> has no <{tag}>.", path=self.where)
        return found

    def all(self, tag: str) -> list[Node]:
        """The children of a tag."""
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def numbers(self, text: str | None, count: int) -> np.ndarray:
        """So many finite numbers of a text."""
        try:
            found = [float(word) for word in (text or "").split()]
        except ValueError:
            found = []
        if len(found) != count or not all(map(math.isfinite, found)):
            kind = "a number" if count == 1 else f"{count} numbers"
            raise FileError(f"<{self.tag}>: {(text or '')[:60]!r} is not {kind}.", path=self.where)
        return np.array(found)

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute that is a number."""
        if self.attributes.get(name) is None and default is not None:
            return default
        return float(self.numbers(self.named(name), 1)[0])

    def content(self, count: int) -> np.ndarray:
        """The text as numbers."""
        return self.numbers(self.text, count)


def read_bytes(path: Path) -> bytes:
    """A file that is not too large to be what it says."""
    try:
        if path.stat().st_size > LARGEST:
            raise FileError(f"it has {path.stat().st_size} bytes, more than {LARGEST}.", path=path.name)
        return path.read_bytes()
    except OSError as error:
        fix = "Give the name of a file that is there and may be read."
        raise FileError(f"cannot read it: {error.strerror or error}.", path=str(path), fix=fix) from error


def parse(data: bytes, file: str) -> Node:
    """The root of an XML file; empty lines before its declaration do no harm, as in other readers."""
    body = data.lstrip(b" \t\r\n")
    above = data[: len(data) - len(body)].count(b"\n")
    if data.count(b"<") > MOST_TAGS:
        raise FileError(f"there are more than {MOST_TAGS} tags.", path=file, fix="Split the machine.")
    parser = expat.ParserCreate()
    parser.buffer_text = True
    root: list[Node] = []
    stack: list[Node] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        node = Node(tag, attributes, file, parser.CurrentLineNumber + above)
        if len(stack) >= DEEPEST:
            raise FileError(f"tags are nested more than {DEEPEST} deep.", path=node.where)
        (stack[-1].children if stack else root).append(node)
        stack.append(node)

    def end(tag: str) -> None:
        stack.pop()

    def text(data: str) -> None:
        if stack:
            stack[-1].text += data

    def entity(*_: object) -> None:
        raise FileError("it declares entities, which are not read.", path=f"{file}:{parser.CurrentLineNumber + above}")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        words = expat.ErrorString(error.code)
        raise FileError(
            f"it is no XML: {words}, column {error.offset + 1}.", path=f"{file}:{error.lineno + above}"
        ) from None
    except (ValueError, LookupError) as error:  # an encoding nobody knows
        raise FileError(f"it is no XML: {error}.", path=file) from None
    return root[0]
