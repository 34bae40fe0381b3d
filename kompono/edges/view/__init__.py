"""The machine in 3D: one page, served or sent to others, for stored runs, for those that are going on, and with the
machine itself in it.
"""

from kompono.edges.view.live import LiveView
from kompono.edges.view.page import fragment, page
from kompono.edges.view.serve import PageServer
from kompono.edges.view.show import view

__all__ = ["LiveView", "PageServer", "fragment", "page", "view"]
