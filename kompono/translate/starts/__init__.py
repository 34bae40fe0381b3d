"""The start: what the user gave, what can be measured from placed bodies, and what is asked of the assembly."""
