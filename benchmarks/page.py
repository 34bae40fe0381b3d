"""Pages in a browser that draws with the processor: pictures a second, steps a second, and how long it takes from a
slider to a picture that shows what it did; the machine in the page, and run here and streamed to it.

Needs playwright and Chromium (`make browser`). Pictures are of 900 x 560 points; a graphics card is faster.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from tables import show

from kompono import view
from kompono.examples.car import Car
from kompono.examples.engine import Engine
from kompono.examples.kuka import Kuka
from kompono.examples.manipulator import Manipulator

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 900, "height": 560}
SECONDS = 5
TRIES = 7
PICTURES = f"""async () => {{
  const {{ machine }} = kompono, drawn = machine.drawn, begun = performance.now();
  await new Promise(done => setTimeout(done, {1000 * SECONDS}));
  return (machine.drawn - drawn) / (performance.now() - begun) * 1000;
}}"""
STEPS = """() => {
  const { engine } = kompono.run, begun = performance.now();
  let count = 0;
  while (performance.now() - begun < 1000) { engine.steps(100); count += 100; }
  return count / (performance.now() - begun) * 1000;
}"""
LATENCY = """([name, share]) => new Promise(done => {
  const { run, machine, data } = kompono;
  const told = data.living.told.filter(k => data.channels[k].name.includes("acceleration"));
  const slider = [...document.querySelectorAll("input[type=range]")].find(one => one.ariaLabel === name);
  const before = told.map(k => run.value(k, run.last)), begun = performance.now();
  let drawn = -1;
  slider.value = share;
  slider.dispatchEvent(new Event("input"));
  const look = () => {
    const jump = Math.max(...told.map((k, i) => Math.abs(run.value(k, run.last) - before[i])));
    if (drawn < 0 && jump > 3) drawn = machine.drawn;
    if (drawn >= 0 && machine.drawn > drawn) done(performance.now() - begun);
    else if (performance.now() - begun > 5000) done(NaN);
    else requestAnimationFrame(look);
  };
  look();
})"""


def measure(page: Any, steps: bool) -> list[str]:
    """Pictures, steps and latency of a page that is open."""
    page.wait_for_selector("body[data-ready=yes]")
    page.wait_for_timeout(1000)
    pictures = page.evaluate(PICTURES)
    name = next((one["name"] for one in page.evaluate("kompono.run.parameters") if "gravity" in one["name"]), None)
    waits = []
    for k in range(TRIES if name else 0):
        waits.append(page.evaluate(LATENCY, [name, 0.2 if k % 2 else 0.9]))
        page.wait_for_timeout(300)
    fast = f"{page.evaluate(STEPS):,.0f}" if steps else ""
    return [f"{pictures:.0f}", fast, f"{sorted(waits)[len(waits) // 2]:.0f}" if waits else ""]


def main() -> None:
    """One line per machine and way."""
    chromium = next(path for name in NAMES if (path := shutil.which(name)))
    rows = []
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for machine in (Car, Engine, Manipulator, Kuka):
            model, file = machine(), Path(folder) / "page.html"
            view(model, html=file, live=True, options={**model.run_defaults, "method": "rk4"})
            page = browser.new_page(viewport=SIZE)
            page.goto(file.as_uri())
            rows.append([machine.__name__, "in the page", *measure(page, True)])
            page.close()
        served: Any = view(Car(), live="here", port=0, options={"until": 1e6, "step": 1e-3, "method": "rk4"})
        page = browser.new_page(viewport=SIZE)
        page.goto(served.url)
        rows.append(["Car", "streamed", *measure(page, False)])
        browser.close()
        served.stop()
    show(
        "pages in Chromium, drawn by the processor",
        ["machine", "runs", "pictures/s", "rk4 steps/s", "slider to picture ms"],
        rows,
    )


if __name__ == "__main__":
    main()
