"""FMUs: models as files that other tools simulate, by the Functional Mock-up Interface (FMI) 2.0 and 3.0."""

from __future__ import annotations

from kompono.edges.fmu.export import ExportedFmu, export_fmu

__all__ = ["ExportedFmu", "export_fmu"]
