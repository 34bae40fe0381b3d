"""A report in a real browser: offline, without complaints, nothing wider than the page, the machine in it drawn."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from plots.machines import Pendulum
from view.support import Tab

from kompono.edges import report
from kompono.edges.report import write_report


@pytest.mark.parametrize("width", [1100, 420])
def test_a_report_opens(tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(report, "PATIENCE", 0.0)
    path = write_report(Pendulum(), tmp_path / "pendulum.html").path
    tab.page.set_viewport_size({"width": width, "height": 800})
    tab.open(path.as_uri())
    tab.page.frame_locator("iframe.kompono-scene").locator("body[data-ready=yes]").wait_for()
    assert tab.complaints == []
    assert [request for request in tab.requests if not request.startswith(("file:", "data:", "about:", "blob:"))] == []
    page = tab.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
    assert page.evaluate("document.images.length") >= 5
    tops = page.evaluate("[...document.querySelectorAll('main > *')].map(e => e.getBoundingClientRect().toJSON())")
    for above, below in pairwise(tops):  # parts follow one another and do not overlap
        assert above["bottom"] <= below["top"] + 1
    page.emulate_media(media="print")
    assert page.locator("iframe").is_hidden()
    assert page.locator("figure.paper").is_visible()
