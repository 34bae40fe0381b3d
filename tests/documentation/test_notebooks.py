"""The notebooks run from top to bottom, and are stored without what they print."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pytest
from documentation.pages import ROOT
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_some() -> None:
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as short:  # the path of a socket must be
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{short}/kernel")
        folder = {"metadata": {"path": str(path.parent)}}
        NotebookClient(notebook, km=kernel, timeout=600, resources=folder).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    assert any(output.output_type == "display_data" for cell in cells for output in cell.outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]
