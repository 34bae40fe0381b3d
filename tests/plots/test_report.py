"""The report is one file that needs nothing else, shows figures, structure and run, and tells what went wrong."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from plots.machines import Pendulum

from kompono.edges import report
from kompono.edges.cli import main
from kompono.edges.report import write_report

EXAMPLES = Path(__file__).parents[2] / "kompono" / "examples"
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Collects text, figures and addresses of a page, and checks that its tags match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.figures: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.addresses += [str(known[key]) for key in ("src", "href") if key in known]
        if tag == "img" and str(known["src"]).startswith("data:image/svg"):
            self.figures.append(str(known["alt"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data.strip())


def read(path: Path) -> tuple[Page, str]:
    page = Page(path.read_text(encoding="utf-8"))
    return page, " ".join(" ".join(page.words).split())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "PATIENCE", 0.0)  # counting operations on every engine takes seconds


def test_a_page_is_whole_and_stands_alone(tmp_path: Path) -> None:
    written = write_report(Pendulum(), tmp_path / "a" / "pendulum.html", source="pendulum.py")
    assert written.result is not None
    assert written.problems == ()
    page, words = read(written.path)
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert page.figures[:2] == ["The angle of the pin.", "Rate over angle <&>."]
    for part in ("A bar on a pin.", "1 bodies, 1 kg", "degrees of freedom", "The run reached its end at 0.4 s.",
                 "rk4, 2 ms", "pin Revolute", "largest drift", "energy at the start [J]"):  # fmt: skip
        assert part in words, part
    text = written.path.read_text(encoding="utf-8")
    assert text.count("<iframe") == 1
    assert 'class="paper"' in text
    assert not re.search(r"""(src|href)=["']?https?:""", text)


def test_a_figure_that_fails_is_told_and_the_others_stay(tmp_path: Path) -> None:
    written = write_report(Pendulum(broken=True), tmp_path / "b.html")
    page, words = read(written.path)
    assert "Figures: ValueError: no second figure" in words
    assert page.figures[0] == "The angle of the pin."
    assert written.problems == ("Figures: ValueError: no second figure",)


def test_chosen_channels_are_drawn(tmp_path: Path) -> None:
    written = write_report(Pendulum(), tmp_path / "c.html", plots=["bar.velocity.*"], request={"until": 0.1})
    page, _ = read(written.path)
    assert "Channels bar.velocity.*." in page.figures


def test_a_run_that_ends_early_is_reported_up_to_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rocket.py"
    file.write_text(
        "from casadi import sqrt\n"
        "from kompono import Body, Subsystem, time\n"
        "from kompono.library import AppliedLoad, solids\n"
        "class Rocket(Subsystem):\n"
        "    def __init__(self):\n"
        "        self.body = Body(solids.sphere(mass=1, radius=0.1))\n"
        "        self.thrust = AppliedLoad(self.body, force=(0, 0, sqrt(0.5 - time)))\n"
    )
    assert main(["report", str(file), "--out", str(tmp_path / "r.html"), "--step", "0.01", "--quiet"]) == 3
    said = capsys.readouterr()
    assert "ended early" in said.err
    _, words = read(tmp_path / "r.html")
    assert "The run ended early at 0.5" in words
    assert "body Body" in words


def test_a_model_that_cannot_run_still_has_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "torn.py"
    file.write_text(
        "from kompono import Body, Ground, Subsystem\n"
        "from kompono.library import Distance, solids\n"
        "class Torn(Subsystem):\n"
        "    def __init__(self):\n"
        "        self.ground = Ground()\n"
        "        self.ball = Body(solids.sphere(mass=1, radius=0.1))\n"
        "        self.short = Distance(self.ground, self.ball, length=1.0)\n"
        "        self.long = Distance(self.ground, self.ball, length=2.0)\n"
    )
    assert main(["report", str(file), "--out", str(tmp_path / "t.html")]) == 1
    assert "The run:" in capsys.readouterr().err
    _, words = read(tmp_path / "t.html")
    assert "The run:" in words
    assert "short" in words


def test_wrong_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(EXAMPLES / "car.py")
    assert main(["report", target, "--out", str(tmp_path / "car.pdf")]) == 1
    assert "Choose a name with .html." in capsys.readouterr().err
    assert main(["report", target, "--out", str(tmp_path)]) == 1


def test_the_report_of_the_car_has_the_figures_of_the_papers(tmp_path: Path) -> None:
    """Dissertation 7.8 to 7.12, 7.14, 7.15; short paper 3 and 4 (MODELS, figures of the papers)."""
    out = tmp_path / "car.html"
    assert main(["report", str(EXAMPLES / "car.py"), "--out", str(out), "--until", "0.2", "--quiet"]) == 0
    page, words = read(out)
    captions = " ".join(page.figures)
    for number in ("7.8", "7.9", "7.10", "7.11", "7.12", "7.14", "7.15"):
        assert f"figure {number})" in captions
    for number in ("3", "4"):
        assert f"(short paper, figure {number})" in captions
    assert "9 bodies, 662.3 kg" in words
    assert "left_strut: 2 of its 5 conditions are implied" in words
    assert out.stat().st_size < 10e6
