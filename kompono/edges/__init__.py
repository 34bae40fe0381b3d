"""Where Kompono meets the world: command line and plots. Optional; nothing upstream imports them."""
