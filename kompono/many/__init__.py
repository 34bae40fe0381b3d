"""Many runs of one model: what differs between them, their starts, lanes and threads, or the machines of a cluster."""

from kompono.many.many import simulate_many

__all__ = ["simulate_many"]
