"""A result, or those of many runs, in a few lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kompono.result.telling import TOLD, telling

if TYPE_CHECKING:
    from kompono.result.ensemble import Ensemble
    from kompono.result.result import Result

RANGES = 8  # channels whose range is shown
JITTER = {"mean": "mean", "99": "99 %", "max": "at most"}
NAMES = 12  # events that are told, by name
FAILURES = 5  # failed runs that are told one by one


def summarize(result: Result) -> str:
    """How the run ended, what it cost, drift, energy, what happened, and the ranges of the channels that move."""
    lines = [_outcome(result), *_cost(result), *_pace(result), *_quality(result), *_ambiguity(result)]
    return "\n".join([*lines, *_happened(result), *_ranges(result)])


def summarize_ensemble(ensemble: Ensemble) -> str:
    """How many runs, what was varied, what they cost, which failed and why, ranges of what moves."""
    time, failed = ensemble.time, ensemble.failed
    span = f"{time[0]:g} to {time[-1]:g} s" if len(time) else "no times"
    size = f"{span}, {len(time)} rows of {len(ensemble.names)} channels"
    lines = [f"{ensemble.model or 'Ensemble'}: {ensemble.runs} runs, {size}, {len(failed) or 'none'} failed"]
    for name, values in ensemble.varied.items():
        lines.append(_line("varied", f"{name}: {values.min():.6g} .. {values.max():.6g}"))
    for i in failed[:FAILURES]:
        lines.append(_line("failed", f"run {i}: {ensemble.status[i].message}"))
    if len(failed) > FAILURES:
        lines.append(_line("failed", f"and {len(failed) - FAILURES} more"))
    lines.append(_line("memory", f"{ensemble.table.nbytes / 1e6:.4g} MB of channels"))
    return "\n".join([*lines, *_cost(ensemble), *_ranges(ensemble)])


def _outcome(result: Result) -> str:
    span = f"{result.time[0]:g} to {result.time[-1]:g} s" if len(result.time) else "no times"
    ended = "" if result.status.ok else f", {result.ending}: {result.status.message}"
    return f"{result.model or 'Result'}: {span}, {len(result.time)} rows of {len(result.names)} channels{ended}"


def _cost(result: Result | Ensemble) -> list[str]:
    """Lines about method, work and wall time, as far as the statistics know them."""
    known = {name: value for name, value in result.statistics.items() if value is not None}
    lines = []
    if "degrees_of_freedom" in known:
        lines.append(_line("freedom", f"{known['degrees_of_freedom']} degrees of freedom"))
    how = [str(known["method"])] if "method" in known else []
    how += [f"{known['engine']} engine"] if "engine" in known else []
    how += [f"step {known['step']:g} s"] if "step" in known else []
    if how:
        lines.append(_line("method", ", ".join(how)))
    work = [f"{known[key]} {key}" for key in ("steps", "evaluations", "rejected") if key in known]
    if known.get("steps_on_lanes"):
        work[0] += f" ({known['steps_on_lanes']} on lanes, {known['steps_alone']} alone)"
    work += [f"{known['walked']} evaluations before native code"] if known.get("walked") else []
    if work:
        lines.append(_line("work", ", ".join(work)))
    keys = ("seconds_translate", "seconds_compile", "seconds_run")
    spent = [f"{known[key]:.3g} s {key.removeprefix('seconds_')}" for key in keys if key in known]
    if spent:
        lines.append(_line("wall time", ", ".join(spent)))
    return lines


def _pace(result: Result) -> list[str]:
    """Lines about a run in real time: load, late frames, jitter, links."""
    known = result.statistics.get("realtime")
    if not known:
        return []
    load = f"load {100 * known['load_mean']:.3g} % mean, {100 * known['load_max']:.3g} % at most"
    late = f"{known['late']} of {known['frames']} frames of {known['frame']:g} s late"
    steps = f" ({known['late_steps']} steps)" if known.get("late_steps") else ""
    lines = [_line("real time", f"{load}, {late}{steps}")]
    jitter = [f"{_short(known[f'jitter_{key}'])} {text}" for key, text in JITTER.items()]
    slipped = f", slipped by {known['slipped']:.3g} s" if known["slipped"] else ""
    lines.append(_line("jitter", ", ".join(jitter) + slipped))
    for link in (entry for entry in known.get("links", ()) if "accepted" in entry):
        ignored = ", ".join(f"{count} {reason}" for reason, count in link["ignored"].items()) or "none"
        told = f"{link['sent']} sent, {link['accepted']} accepted, {link['lost']} lost, ignored: {ignored}"
        lines.append(_line("link", f"{link['name']}: {told}"))
    return lines


def _quality(result: Result) -> list[str]:
    """Lines about drift off the constraints and change of energy, as far as recorded."""
    lines = []
    drift = [
        f"{level} {np.nanmax(np.abs(result[name])):.2g}"
        for level in ("position", "velocity")
        if (name := f"drift.{level}") in result and np.isfinite(result[name]).any()
    ]
    if drift:
        lines.append(_line("drift", "at most " + ", ".join(drift)))
    energy = result["energy.total"] if "energy.total" in result else np.empty(0)
    energy = energy[np.isfinite(energy)]
    if len(energy):
        change, spread = energy[-1] - energy[0], np.max(np.abs(energy - energy[0]))
        lines.append(_line("energy", f"{energy[0]:.6g} J, changed by {change:.3g} J, at most {spread:.3g} J"))
    return lines


def _ambiguity(result: Result) -> list[str]:
    """A line about reactions that are not unique, if some are recorded."""
    redundant = list(result.statistics.get("redundant", ()))
    if not redundant or not any(".force." in name or ".torque." in name for name in result.names):
        return []
    more = f" and {len(redundant) - 3} more" if len(redundant) > 3 else ""
    whose = f"of {', '.join(redundant[:3])}{more} and of the joints of their loops"
    return [_line("reactions", f"{whose}: one of many sets that fit the motion")]


def _happened(result: Result) -> list[str]:
    """Lines about events: how often each happened, first and last."""
    times: dict[str, list[float]] = {}
    for time, name in result.statistics.get("events") or ():
        times.setdefault(str(name), []).append(float(time))
    lines, width = [], max(map(len, list(times)[:NAMES]), default=0)
    for name, found in list(times.items())[:NAMES]:
        when = f"{found[0]:.9g}" + (f" to {found[-1]:.9g}" if len(found) > 1 else "")
        lines.append(_line("events", f"{len(found):6d} x {name:{width}s}  {when} s"))
    left = list(times.values())[NAMES:]
    return [*lines, _line("events", f"{sum(map(len, left)):6d} of {len(left)} more names")] if left else lines


def _ranges(result: Result | Ensemble) -> list[str]:
    """Smallest and largest value of the channels that tell most, without those told above."""
    names = telling(result)[:RANGES]
    width = max(map(len, names), default=0)
    lines = []
    for name in names:
        values = result[name][np.isfinite(result[name])]
        lines.append(f"  {name:{width}s}  {values.min():12.6g} .. {values.max():<12.6g} {result.units[name]}".rstrip())
    more = sum(not name.startswith(TOLD) for name in result.names) - len(names)
    return [*lines, f"  and {more} more channels"] if more > 0 and len(result.time) else lines


def _short(seconds: float) -> str:
    return f"{1e6 * seconds:.3g} us" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"


def _line(label: str, text: str) -> str:
    return f"  {label:10s} {text}"
