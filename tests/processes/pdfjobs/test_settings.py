"""Storage and templates come from the environment."""

from tests.support.commands import manage


def test_the_environment_chooses_the_bucket_and_the_templates(tmp_path) -> None:
    """`none` is the empty allowlist, because an empty variable is one that is not set."""
    ask = (
        "from django.conf import settings; from django.core.files.storage import storages; "
        "s = storages['artifacts']; "
        "print(s.bucket_name, s.endpoint_url, settings.PDF_TEMPLATES, settings.PDF_FAIL_SAFE)"
    )

    ended = manage(
        "shell",
        "--verbosity=0",
        f"--command={ask}",
        KILIT_VAR=str(tmp_path),
        KILIT_S3_BUCKET="pdfs",
        KILIT_S3_ENDPOINT="http://127.0.0.1:9000",
        KILIT_PDF_TEMPLATES="none",
        KILIT_PDF_FAIL_SAFE="degrade",
    )

    assert ended.stdout == "pdfs http://127.0.0.1:9000 [] degrade\n", ended.stderr
