"""The story of a supplier and a customer, as the example tells it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="kompono[remote] is not installed")
RUN = Path(__file__).parents[2] / "examples" / "supplier" / "run.py"


def test_the_car_with_dampers_at_their_suppliers() -> None:
    done = subprocess.run([sys.executable, str(RUN), "--until", "0.005"], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "serving damper at" in done.stdout
    found = re.search(r"280 channels, relative: (\S+)", done.stdout)
    assert found
    assert float(found[1]) < 1e-11  # numbers of a closed part are arguments, those of a file stand in its code
