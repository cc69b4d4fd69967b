from pdfjobs.models.callback import PdfCallback
from pdfjobs.models.job import PdfJob, RenderTiming

__all__ = ["PdfCallback", "PdfJob", "RenderTiming"]
