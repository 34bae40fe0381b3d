"""What the site needs beyond MkDocs: formulas as MathML, links that leave docs/, the list of decisions, the changelog.

Formulas are converted when the site is built, so that pages need no script and nothing from the network; the font is
taken from an installed package. A link to a file of the project outside docs/ leads to a page made of that file, so one
and the same link works in an editor, on a code host and on the site.
"""

from __future__ import annotations

import html
import posixpath
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from math_core import LatexToMathML
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
FONT = "STIXTwoMath-Regular.ttf"
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
LINK = re.compile(r"(?<=\]\()(\.\.?/[^)\s#]+)")
BESIDE = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)[^)]*\)")
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1`*$", re.MULTILINE | re.DOTALL)
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
PLACES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}

_converter = LatexToMathML()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Say in the header which version this is, and where its repository is if the project says so."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.site_name = f"Kompono {project['version']}"
    config.repo_url = project.get("urls", {}).get("Repository")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages made of files outside docs/, the changelog and the font of the formulas."""
    linked = {"CHANGELOG.md"}
    for file in files.documentation_pages():
        text = FENCE.sub("", file.content_string)
        linked |= {path for link in LINK.findall(text) if (path := outside(file.src_uri, link))}
    for path in sorted(linked - {"README.md"}):
        files.append(File.generated(config, place(path), content=as_page(path)))
    package = find_spec("ziamath")
    assert package is not None
    font = Path(str(package.origin)).parent / "fonts" / FONT
    files.append(File.generated(config, f"assets/{FONT}", abs_src_path=str(font)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links that leave docs/ to the pages of their files; list the decisions."""

    def turned(match: re.Match[str]) -> str:
        path = outside(page.file.src_uri, match[1])
        return posixpath.relpath(place(path), posixpath.dirname(page.file.src_uri) or ".") if path else match[1]

    if page.file.src_uri == "decisions/index.md":
        markdown += "\n" + "\n".join(decisions(files)) + "\n"
    return markdown if page.file.src_uri.startswith("source/") else LINK.sub(turned, markdown)


def on_page_content(content: str, **_: Any) -> str:
    """TeX to MathML."""
    return FORMULA.sub(formula, content)


def formula(match: re.Match[str]) -> str:
    """One formula; a wrong one ends the build with what is wrong."""
    tex, display = html.unescape(match[2]).strip(), match[1] == "div"
    mathml = _converter.convert_with_local_state(tex, displaystyle=display)
    return f'<div class="formula">{mathml}</div>' if display else mathml


def outside(src_uri: str, link: str) -> str:
    """The path from the project's root of a linked file outside docs/, empty for links that stay inside."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(src_uri), link))
    return path if not path.startswith("docs/") and (ROOT / path).is_file() else ""


def place(path: str) -> str:
    """The page of the site for a file outside docs/."""
    return PLACES.get(path, f"source/{path}.md")


def as_page(path: str) -> str:
    """A file as a page: Markdown without its links to neighbours, anything else as one block, which is not searched."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return BESIDE.sub(r"\1", text)  # its neighbours are not on the site
    return f"{UNSEARCHED}# {path}\n\n`````{Path(path).suffix[1:].replace('py', 'python') or 'text'}\n{text}\n`````\n"


def decisions(files: Files) -> list[str]:
    """One line per decision, by number."""
    lines = []
    for file in sorted(files.documentation_pages(), key=lambda file: file.src_uri):
        if file.src_uri.startswith("decisions/0"):
            number, title = file.content_string.splitlines()[0].removeprefix("# ").split(". ", 1)
            lines.append(f"- {number}: [{title}]({posixpath.basename(file.src_uri)})")
    return lines
