from pdfjobs.models.job import PdfJob, RenderTiming

__all__ = ["PdfJob", "RenderTiming"]
