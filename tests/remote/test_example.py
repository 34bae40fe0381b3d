"""The story of a supplier and a customer, as the example tells it."""

from __future__ import annotations

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
    assert "relative: 0.0e+00" in done.stdout
