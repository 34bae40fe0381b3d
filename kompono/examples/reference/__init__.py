"""Published benchmark problems; the tests compare each with values published or computed independently."""
