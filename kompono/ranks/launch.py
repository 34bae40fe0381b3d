"""`mpiexec` started for the user: as many processes on this computer as were asked for.

Ctrl-C on a terminal would make `mpiexec` kill its processes within half a second. Started from here it does not hear
it; the processes are told by SIGUSR1, which `mpiexec` passes on, and end as a run does that is interrupted: with all
that was computed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

from kompono.errors import RunError
from kompono.result import extra

_SIGNS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "MPI_LOCALNRANKS")  # of who was started so
_AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")


def is_rank() -> bool:
    """Whether this process was started by an `mpiexec` (or `srun`)."""
    return any(sign in os.environ for sign in _SIGNS)


def launch(count: int, command: Sequence[str]) -> int:
    """Run a command in so many processes and give the exit code of all."""
    extra("mpi4py", "mpi")
    places = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    found = shutil.which("mpiexec", path=places)
    if found is None:
        raise RunError("there is no mpiexec.", fix="Try: pip install 'kompono[mpi]'")
    with subprocess.Popen(
        [found, "-n", str(count), *command], env={**os.environ, **_environment(count)}, start_new_session=True
    ) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                process.send_signal(signal.SIGUSR1)


def _environment(count: int) -> dict[str, str]:
    """Open MPI refuses to run as root, or more processes than processors, unless it is told twice."""
    wanted: dict[str, str] = {}
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        wanted |= {name + end: "1" for name in _AS_ROOT for end in ("", "_CONFIRM")}
    if count > (os.cpu_count() or 1):
        wanted["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    return wanted
