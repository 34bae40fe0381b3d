"""Laws with modes in the equations of motion: their rows, their forces at fixed modes, what guards and chooses them."""
