"""HTML to PDF with Chromium: the same input gives the same bytes."""

from pdfjobs.rendering.engine import engine_version, sandbox_warning
from pdfjobs.rendering.faults import OptionsFault, RenderFault
from pdfjobs.rendering.options import PageOptions
from pdfjobs.rendering.renderer import close, render

__all__ = ["OptionsFault", "PageOptions", "RenderFault", "close", "engine_version", "render", "sandbox_warning"]
