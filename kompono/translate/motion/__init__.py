"""What a state means: positions and velocities, conditions and their derivatives, loads, and what sensors read.

kinematics.py   motion of bodies along the tree; of any frame as seen from any other
conditions.py   g, G, g_dot and u of everything that closes loops, by differentiation
loads.py, readings.py   forces, efforts and fields; what elements exert, for channels
sensors.py, signals.py   what frames and sensors see; the symbols of expressions bound to values
"""
