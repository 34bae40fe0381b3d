"""A run back along stored steps, with the gradient of a cost."""

from __future__ import annotations

import numpy as np

from kompono.compile.block import ChunkEnd
from kompono.compile.run import Run

CHUNK = 2000  # rows, after which native code may take over


class BackRun(Run):
    """From the last of some stored rows (time, kind, state) to the first. See `loop_adjoint`."""

    def follow(self, rows: np.ndarray) -> ChunkEnd:
        """Go back along all rows; the state's gradient and what parameters got of it are behind the state then."""
        rows = np.ascontiguousarray(rows)
        self._block.records, self._block.step = rows.ctypes.data, len(rows) - 1
        status = ChunkEnd.OK
        while self._block.step > 0 and status is ChunkEnd.OK:
            status = self.advance(CHUNK)
        return status

    @property
    def _taken(self) -> int:
        return -self._block.step

    @property
    def _usual_step(self) -> float:
        return 0.0

    def _next_end(self) -> float:
        return self._block.time
