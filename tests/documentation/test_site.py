"""The site builds without a warning (no broken link, anchor or formula) and asks nobody for anything."""

from __future__ import annotations

import json
import logging
import os
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from documentation.pages import ROOT
from mkdocs.commands.build import build
from mkdocs.config import load_config

LONG = bool(os.environ.get("KOMPONO_LAWS"))
MADE = ("car-Car", "5-four-bar-FourBar")  # machines that are made here; all of them take a minute
FETCHED = re.compile(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]*)"|<link\b[^>]*\bhref="([^"]*)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; strict, so a warning is an error."""
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        if not LONG:
            patch.setenv("KOMPONO_DOCS_MACHINES", ",".join(MADE))
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_nothing_comes_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        fetched = [a or b for a, b in FETCHED.findall(page.read_text(encoding="utf-8"))]
        assert fetched
        assert not [link for link in fetched if re.match(r"(?:https?:)?//", link)], page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name


def test_machines_run_in_gallery_tutorial_and_pages_of_examples(site: Path) -> None:
    frame = re.compile(r'<iframe class="living" src="([^"]+)"')
    pages = {page: frame.findall(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}
    assert len(pages[site / "gallery.html"]) >= 12
    assert all(pages[page] for page in (site / "tutorial").glob("*.html"))
    assert pages[site / "source" / "kompono" / "examples" / "engine.py.html"]
    asked = {(page.parent / link).resolve() for page, links in pages.items() for link in links}
    made = {file.resolve() for file in (site / "living").iterdir()}
    assert made == (asked if LONG else {file for file in asked if file.stem in MADE})
    for file in made:
        text = file.read_text(encoding="utf-8")
        assert len(text) < 2.5e6
    assert all("'wasm-unsafe-eval'" in (site / "living" / f"{name}.html").read_text(encoding="utf-8") for name in MADE)


def test_the_header_tells_the_version_and_sources_are_not_searched(site: Path) -> None:
    assert f"Kompono {version('kompono')}" in (site / "index.html").read_text(encoding="utf-8")
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert any(entry["location"].startswith("howto/") for entry in found)
    assert not [entry for entry in found if re.match(r"source/.*\.py", entry["location"])]


def test_formulas_are_mathml_in_a_font_of_the_site(site: Path) -> None:
    text = (site / "theory" / "condense-and-resolve.html").read_text(encoding="utf-8")
    assert text.count("<math") > 20
    assert 'class="arithmatex"' not in text
    assert (site / "assets" / "STIXTwoMath-Regular.ttf").stat().st_size > 1e5


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    import kompono
    import kompono.library

    text = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    missing = [name for name in kompono.__all__ if f'id="kompono.{name}"' not in text]
    missing += [name for name in kompono.library.__all__ if f'id="kompono.library.{name}"' not in text]
    assert not missing


@pytest.mark.parametrize("page", ["README.md", "examples/README.md", "CHANGELOG.md"])
def test_links_of_pages_outside_the_site_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!\w+:|#)([^)#]+)", (ROOT / page).read_text(encoding="utf-8"))
    assert not [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]


def test_links_to_files_of_the_project_lead_to_their_text(site: Path) -> None:
    assert "DamperBench" in (site / "source" / "kompono" / "examples" / "car.py.html").read_text(encoding="utf-8")
    index = (site / "decisions" / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs" / "decisions").glob("0*.md"):
        assert f'href="{page.stem}.html"' in index


def test_house_words_live_where_they_are_said_to() -> None:
    text = (ROOT / "docs" / "house-words.md").read_text(encoding="utf-8")
    places = re.findall(r"`([\w/]+(?:\.py|/))`", text)
    assert len(places) > 60
    assert not [place for place in places if not (ROOT / "kompono" / place).exists()]
