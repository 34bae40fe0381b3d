"""What a run leaves behind: named channels over time, a status, statistics; and their ways to disk."""

from kompono.result.ensemble import Ensemble
from kompono.result.extras import MissingExtra, extra
from kompono.result.result import Result, Status, UnknownChannel, matching
from kompono.result.unwrap import unwrap

__all__ = ["Ensemble", "MissingExtra", "Result", "Status", "UnknownChannel", "extra", "matching", "unwrap"]
