"""Where finished PDFs are kept: `artifacts` is the interface, `folder` and `s3` are the two storage backends."""
