"""The machine in 3D: one page, served or sent to others; on viser (extra `view`) a live view of a run."""

from kompono.edges.view.live import LiveView
from kompono.edges.view.page import fragment, page
from kompono.edges.view.serve import PageServer
from kompono.edges.view.show import view
from kompono.edges.view.viewer import Viewer

__all__ = ["LiveView", "PageServer", "Viewer", "fragment", "page", "view"]
