"""What a user declares: subsystems, bodies, joints, constraints, forces and signals."""
