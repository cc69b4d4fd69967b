"""Uploaded files that are too large for memory."""

from tempfile import TemporaryFile
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, TemporaryFileUploadHandler


class NamelessFileUploadHandler(TemporaryFileUploadHandler):
    """Writes to a file that has no name: no one else can open it, and it ends with the process, even when killed."""

    file: Any  # not Django's temporary file, which has a name

    def new_file(self, *args: Any, **options: Any) -> None:
        FileUploadHandler.new_file(self, *args, **options)
        file = TemporaryFile()  # noqa: SIM115 - the request closes it
        self.file = UploadedFile(file, self.file_name, self.content_type, 0, self.charset)

    def upload_interrupted(self) -> None:
        if hasattr(self, "file"):
            self.file.close()
