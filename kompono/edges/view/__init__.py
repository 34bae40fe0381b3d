"""The machine in 3D: a viewer in the browser (extra `view`), a live view of a run, one page to send to others."""

from kompono.edges.view.live import LiveView
from kompono.edges.view.page import fragment, page
from kompono.edges.view.show import view
from kompono.edges.view.viewer import Viewer

__all__ = ["LiveView", "Viewer", "fragment", "page", "view"]
