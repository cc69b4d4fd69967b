"""Uploads to ad platforms.

`upload_run` claims rows and sends them through a `results.Provider` (`providers` lists them), `settle` writes the
result of each row, and `circuits` opens and closes circuits by what the results say about the account. `verdict_run`
asks providers that reply later what became of their requests, and writes that.
"""
