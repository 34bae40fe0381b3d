"""`terminalsAndIcons.xml` of FMI 3: which variables belong together, so that tools connect them by one line.

Each component with inputs or outputs of its own is a terminal, a bus of these signals named as they are declared there;
what the model itself declares is the terminal of its name. Coordinates and speeds of a joint are one, too.
"""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from kompono.edges.fmu.variables import Variable, Variables

FILE = "terminalsAndIcons/terminalsAndIcons.xml"


def terminals(name: str, variables: Variables) -> bytes:
    """The file for a model of some name; empty if nothing can be connected."""
    groups: dict[str, list[Variable]] = {}
    joints = _joints(variables)
    for variable in (*variables.inputs, *variables.results):
        groups.setdefault(joints.get(variable.name) or variable.name.rpartition(".")[0] or name, []).append(variable)
    if not groups:
        return b""
    root = Element("fmiTerminalsAndIcons", {"fmiVersion": "3.0"})
    listed = SubElement(root, "Terminals")
    for group, members in groups.items():
        terminal = SubElement(listed, "Terminal", {"name": group, "matchingRule": "bus"})
        for member in members:
            own = member.name.removeprefix(f"{group}.")
            told = {"variableKind": "signal", "variableName": member.name, "memberName": own}
            SubElement(terminal, "TerminalMemberVariable", told)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'.encode()


def _joints(variables: Variables) -> dict[str, str]:
    """The element of rates that are named after a coordinate: `pin` for `pin.angle.rate`."""
    names = {variable.name for variable in variables.results}
    found = {}
    for name in names:
        coordinate, _, last = name.rpartition(".")
        if last in ("rate", "acceleration") and coordinate in names and "." in coordinate:
            found[name] = coordinate.rpartition(".")[0]
    return found
