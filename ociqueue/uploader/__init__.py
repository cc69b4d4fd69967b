"""Uploads to ad platforms.

`upload_run` claims rows and sends them through a `results.Provider` (Google Ads in `googleads`), `settle` writes the
result of each row, and `circuits` opens and closes circuits by what the results say about the account.
"""
