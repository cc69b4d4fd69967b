"""Renders HTML to PDF with Chromium. The same input gives the same bytes."""

from pdfjobs.rendering.chromium import engine_version, sandbox_warning
from pdfjobs.rendering.errors import RenderError
from pdfjobs.rendering.options import PageOptions
from pdfjobs.rendering.renderer import close, render

__all__ = ["PageOptions", "RenderError", "close", "engine_version", "render", "sandbox_warning"]
