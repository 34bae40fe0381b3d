"""Numbers that each of several runs with chosen steps has of its own: places in the vector `lane`.

Time and step [s], the last error, whether a step was refused before and whether the rate is to be made; begin and
length of the last step [s]; how many records, steps, refused steps and evaluations there were; and two that mean
nothing from one moment to the next: whether a record is due, and when.
"""

from __future__ import annotations

CLOCK, LENGTH, ERROR, AGAIN, FRESH, BEGUN, LONG, RECORDED, MADE, REFUSED, ASKED, DUE, WANTED = range(13)
OF_A_LANE = 13
