from pdfjobs.models.job import PdfJob
from pdfjobs.models.timing import RenderTiming

__all__ = ["PdfJob", "RenderTiming"]
