"""Blocks of signals: tables of one and two variables as expressions."""

from kompono.library.blocks.tables import Table, Table2

__all__ = ["Table", "Table2"]
