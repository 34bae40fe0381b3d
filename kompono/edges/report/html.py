"""Pieces of a page: escaped text, tables, figures, foldable lists; and the page itself with its style inside.

Everything is in the one file: pictures as data, no fonts or scripts from elsewhere, so that it can be sent and opened
anywhere. Wide tables scroll on the screen and wrap on paper.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

ROWS = 400  # of a table; more are counted


def text(value: Any) -> str:
    """A value as escaped text, numbers with six digits."""
    if isinstance(value, float):
        return escape(f"{value:.6g}")
    return escape(str(value))


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; numbers are set to the right, columns without content are left out."""
    listed = list(rows)
    used = [k for k in range(len(head)) if any(row[k] not in ("", None) for row in listed)]
    if not used:
        return ""
    right = {k for k in used if any(isinstance(row[k], int | float) for row in listed)}
    side = {k: ' class="number"' if k in right else "" for k in used}
    body = ["<tr>" + "".join(f"<td{side[k]}>{text(row[k])}</td>" for k in used) + "</tr>" for row in listed[:ROWS]]
    if len(listed) > ROWS:
        body.append(f'<tr><td colspan="{len(used)}">and {len(listed) - ROWS} more</td></tr>')
    titles = "".join(f"<th{side[k]}>{escape(head[k])}</th>" for k in used)
    return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def pairs(rows: Iterable[tuple[str, Any]]) -> str:
    """A table of names and values."""
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{text(value)}</td></tr>" for name, value in rows)
    return f'<table class="pairs"><tbody>{cells}</tbody></table>' if cells else ""


def beside(*content: str) -> str:
    """Parts side by side where there is room."""
    return f'<div class="beside">{"".join(f"<div>{part}</div>" for part in content if part)}</div>'


def bullets(lines: Iterable[str]) -> str:
    """A list."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def section(title: str, *content: str) -> str:
    """A part of the page under a heading; nothing if it has no content."""
    inside = "\n".join(part for part in content if part)
    name = "".join(letter if letter.isalnum() else "-" for letter in title.lower())
    return f'<section id="{name}"><h2>{escape(title)}</h2>\n{inside}\n</section>' if inside else ""


def folded(title: str, content: str) -> str:
    """Something to open by a click."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>" if content else ""


def figure(svg: str, caption: str, number: int, width: float) -> str:
    """A numbered picture (an SVG of `width` inches) with its caption."""
    data = base64.b64encode(svg.encode()).decode()
    line = f"<figcaption><b>Figure {number}.</b> {escape(caption)}</figcaption>"
    style = f"width:{6 * width:.1f}rem"  # its own size, if the page is wide enough
    picture = f'<img style="{style}" alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>{picture}{line}</figure>"


def notice(message: str, *, bad: bool) -> str:
    """A box that says something important."""
    return f'<p class="notice {"bad" if bad else "good"}">{escape(message)}</p>'


def page(
    title: str, subtitle: str, facts: Iterable[tuple[str, Any]], sections: Sequence[str], foot: str, policy: str
) -> str:
    """The whole document; `policy` says what a browser may do in it."""
    cards = "".join(f"<div><b>{text(value)}</b><span>{escape(name)}</span></div>" for name, value in facts)
    shown = [part for part in sections if part]
    heads = [(part.split('"')[1], part.split("<h2>")[1].split("</h2>")[0]) for part in shown if part.startswith("<sec")]
    links = "".join(f'<a href="#{name}">{head}</a>' for name, head in heads)
    style = files("kompono.edges.report").joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join(shown)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{style}</style></head>\n'
        f"<body>\n<header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p><nav>{links}</nav></header>\n<main>\n"
        f'<div class="facts">{cards}</div>\n{body}\n</main>\n<footer>{escape(foot)}</footer>\n</body></html>\n'
    )
