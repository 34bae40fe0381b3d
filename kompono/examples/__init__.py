"""Machines that come with Kompono, to run, to read and to build on: `from kompono.examples.car import Car`.

`kompono run examples/car.py` finds `car.py` here from any folder that has no file of that name itself, and
`python -m kompono.examples.car` draws its figures. Nothing of Kompono imports them.

    car             a body on two suspensions: nested components, closed loops, test benches
    manipulator     an arm of three driven links: a tree, motors as components
    engine          four cylinders on a crank: events and modes, redundant conditions
    kuka            a six-axis robot of 43 bodies: mates, own constraints
    press           a toggle press drawn in CAD: bodies from a STEP file, joints written here
    fivebar         a robot with a loop: URDF, the loop beside it, motors that follow a circle
    balance         a pole on a cart in real time, with a controller in another process
    reference       published benchmark problems
"""
