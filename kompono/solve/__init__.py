"""Kernel and state to trajectory; knows no bodies and no symbols."""
