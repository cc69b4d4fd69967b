"""Uploaded files that are too large for memory."""

from tempfile import TemporaryFile
from typing import IO, Any

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, MemoryFileUploadHandler

__all__ = ["MemoryFileUploadHandler", "NamelessFileUploadHandler"]


class NamelessFileUploadHandler(FileUploadHandler):
    """Writes to a file that has no name: no one else can open it, and it ends with the process, even when killed."""

    file: IO[bytes]

    def new_file(self, *args: Any, **options: Any) -> None:
        super().new_file(*args, **options)
        self.file = TemporaryFile()  # noqa: SIM115 - the request closes it

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.file.write(raw_data)

    def file_complete(self, file_size: int) -> UploadedFile[bytes]:
        self.file.seek(0)
        return UploadedFile(
            file=self.file,
            name=self.file_name,
            content_type=self.content_type,
            size=file_size,
            charset=self.charset,
        )

    def upload_interrupted(self) -> None:
        if hasattr(self, "file"):
            self.file.close()
