"""Names, types, units and messages are text wherever they are shown: nothing in them ever runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from view.hostile import CODE, PAYLOADS, Hostile, Markup, check, hostile_run
from view.support import Tab

from kompono import view
from kompono.edges import report
from kompono.edges.report import write_report
from kompono.edges.view import fragment, page
from kompono.result import Result
from kompono.result.result import Status
from kompono.scene import Scene


def scene() -> Scene:
    data = dict(hostile_run().scene or {})
    data["model"] = "".join(PAYLOADS)
    data["violated"] = {f"{name} joint": 1.0 for name in PAYLOADS}
    data["redundant"] = [f"{name} joint" for name in PAYLOADS]
    return Scene.from_data(data)


def unharmed(tab: Tab) -> None:
    """Nothing of it ran, in any frame."""
    for frame in tab.page.frames:
        assert frame.evaluate("typeof window.hacked") == "undefined"


def test_the_markup_is_understood() -> None:
    """The checker finds what it is there to find."""
    for text in (f"<p onclick={CODE}>", f"<script>{CODE}</script>", "<a href=javascript:1>", "<img src=http://x>"):
        with pytest.raises(AssertionError):
            check(text)
    assert Markup("<script>1</script>").scripts == ["1"]


def test_the_page_holds_text() -> None:
    text = page(scene(), hostile_run())
    check(text)
    assert len(Markup(text).scripts) == 2  # three.js and our own
    check(fragment(scene(), hostile_run()))


def test_a_page_may_run_its_own_scripts_only() -> None:
    """Whatever escaping might forget, the browser is told which two scripts there are."""
    text = page(scene(), hostile_run())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy[1].partition("style-src")[0]


def test_the_page_in_a_browser(tab: Tab, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(scene(), hostile_run(), channels=["* out", "*.angle"]), encoding="utf-8")
    tab.page.on("dialog", lambda dialog: dialog.dismiss())
    tab.open(file.as_uri())
    tab.page.wait_for_selector("body[data-ready=yes]")
    names = tab.page.evaluate("[...document.querySelectorAll('#nodes .name')].map(e => e.textContent)")
    assert set(PAYLOADS) <= set(names)
    assert tab.page.evaluate("document.getElementById('note').textContent").endswith(" ".join(PAYLOADS))
    assert tab.page.title() == "".join(PAYLOADS)
    for element in tab.page.locator("#nodes .name").all():
        element.evaluate("e => e.click()")
    tab.page.wait_for_timeout(300)
    unharmed(tab)
    assert tab.complaints == []


def test_a_browser_refuses_what_is_not_ours(tab: Tab, tmp_path: Path) -> None:
    """With the escaping broken on purpose."""
    text = page(scene(), hostile_run()).replace(
        "<header>", f"<header><img src=x onerror={CODE}><script>{CODE}</script>"
    )
    file = tmp_path / "page.html"
    file.write_text(text, encoding="utf-8")
    tab.open(file.as_uri())
    tab.page.wait_for_selector("body[data-ready=yes]")
    unharmed(tab)
    assert tab.complaints


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib")
    patch = pytest.MonkeyPatch()
    patch.setattr(report, "PATIENCE", 0.0)
    patch.setattr("kompono.simulate", lambda *_, **__: hostile_run())
    target = tmp_path_factory.mktemp("report") / "report.html"
    write_report(Hostile(), target, source="".join(PAYLOADS), plots=["* out", "*.angle"])
    patch.undo()
    return target


def test_the_report_holds_text(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    check(text)
    assert "&lt;script&gt;" in text
    assert "Content-Security-Policy" in text
    assert text.count("<figure>") >= 1  # names like formulas are drawn as they are


def test_the_report_in_a_browser(tab: Tab, written: Path) -> None:
    tab.open(written.as_uri())
    tab.page.frame_locator("iframe.kompono-scene").locator("body[data-ready=yes]").wait_for()
    tab.page.wait_for_timeout(300)
    unharmed(tab)
    assert tab.complaints == []


def test_pictures_hold_text(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for panels in ("unit", "channel"):
        svg = hostile_run().plot(*(f"{name} out" for name in PAYLOADS[:8]), panels=panels).svg()
        check(re.sub(r'xlink:href="#|<(metadata|\?xml|!DOCTYPE)', "", svg))
        assert "<script" not in svg
    result = hostile_run()
    named = Result(result.time, ["$\\frac$", "$a$"], result.table[:, :2], units={"$\\frac$": "$\\x$", "$a$": "m"},
                   model="$\\frac$", status=Status(False, "$\\frac$", 0.0))  # fmt: skip
    for suffix in ("svg", "png", "pdf"):
        assert named.plot().save(tmp_path / f"x.{suffix}").stat().st_size > 0
    assert named.plot(x="$a$").png()


MESSAGES = (
    f"<script>{CODE}</script>",
    f"<b><svg><script>{CODE}</script></svg></b>",
    f"<p onclick={CODE}>x",
    " ".join(PAYLOADS),
)


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_in_a_browser(message: str, tab: Tab, tmp_path: Path) -> None:
    run = hostile_run()
    result = Result(run.time, run.names, run.table, units=run.units, status=Status(False, message, 0.01))
    file = tmp_path / "page.html"
    file.write_text(page(scene(), result, channels=["* out", "*.angle"]), encoding="utf-8")
    tab.open(file.as_uri())
    tab.page.wait_for_selector("body[data-ready=yes]")
    for path in [f"{name} joint" for name in PAYLOADS][:3]:
        tab.page.evaluate("path => kompono.tree.light(path)", path)
    tab.page.fill("#add", "script")
    tab.page.evaluate("text => { location.hash = `sel=${text}&curves=${text}`; kompono.links.read(); }", message)
    unharmed(tab)
    assert message[:10] in tab.page.inner_text("#note")


def test_names_of_a_living_machine_are_text() -> None:
    from kompono.edges.view.living import living

    text = page(scene(), hostile_run(), living=living(Hostile(), {"until": 0.1}))
    check(text)
    assert len(Markup(text).scripts) == 2


def test_a_served_page_holds_text() -> None:
    from http.client import HTTPConnection

    server: Any = view(hostile_run(), port=0)
    try:
        port = int(server.url.rsplit(":", 1)[1])
        for path in ("/", f"/{PAYLOADS[0]}".replace(" ", "%20"), "/<script>"):
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", path, headers={"Host": f"localhost:{port}"})
            check(connection.getresponse().read().decode())
            connection.close()
    finally:
        server.stop()
