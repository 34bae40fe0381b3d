"""Take the pictures view-*.png of the gallery: python docs/images/views.py RESULT.h5=SECONDS ... (needs Chromium).

Results are those of `kompono run examples/car.py --hdf5 car.h5` and so on; the name of the file is that of the picture.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from kompono import view

FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
CHANNELS = {
    "car": ["body.position.z", "left_wheel.ring.position.z"],
    "engine": ["speed", "cylinder1.piston.position.z"],
    "manipulator": ["arm.link?.motor.bearing.angle"],
    "kuka": ["axis?.reference"],
}


def main(targets: list[str]) -> None:
    browser = os.environ.get("KOMPONO_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        chromium = driver.chromium.launch(executable_path=browser, args=FLAGS)
        for target in targets:
            file, _, time = target.partition("=")
            name = Path(file).stem
            page = view(file, html=Path(folder) / f"{name}.html", channels=CHANNELS.get(name))
            tab = chromium.new_page(viewport={"width": 1200, "height": 700})
            tab.goto(f"{page.as_uri()}#fine")  # with shadows, though the processor draws
            tab.wait_for_selector("body[data-ready=yes]", timeout=60_000)
            tab.evaluate(f"kompono.seek({float(time or 0)})")
            tab.wait_for_timeout(3000)
            picture = Image.open(BytesIO(tab.screenshot())).convert("RGB")
            picture.save(Path(__file__).parent / f"view-{name}.png", optimize=True)
            tab.close()
        chromium.close()


if __name__ == "__main__":
    main(sys.argv[1:])
