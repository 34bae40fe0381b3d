"""Laws that change structure: forces for given modes, the modes that fit, and impacts, on small dense problems."""
