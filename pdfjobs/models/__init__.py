from pdfjobs.models.bucket_folder import BucketFolder
from pdfjobs.models.callback import PdfCallback
from pdfjobs.models.job import PdfJob, RenderTiming

__all__ = ["BucketFolder", "PdfCallback", "PdfJob", "RenderTiming"]
