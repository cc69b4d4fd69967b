"""The names of django-allauth that it calls internal and we use: if one moves or changes, this test names it.

They may change with any of its releases; docs/decisions/0021-logins-by-allauth.md says why they are used.
"""

import ast
import inspect
from pathlib import Path

import pytest
from django.utils.module_loading import import_string

from tests.support.commands import ROOT

# With the parameters they take; a module has none.
INTERNAL = {
    "account.internal.flows.login.perform_login": ("request", "login"),
    "account.internal.flows.login.perform_password_login": ("request", "credentials", "login"),
    "account.internal.flows.login.record_authentication": ("request", "user", "method", "extra_data"),
    "core.internal.cryptokit.normalize_user_code": ("code",),
    "mfa.base.internal.flows.delete_dangling_recovery_codes": ("user",),
    "mfa.base.internal.flows.post_authentication": ("request", "authenticator", "reauthenticated", "passwordless"),
    "mfa.recovery_codes.internal.auth.RecoveryCodes": ("instance",),
    "mfa.totp.internal.auth.TOTP": ("instance",),
    "mfa.totp.internal.auth.clear_totp_secret": ("request",),
    "mfa.totp.internal.auth.get_totp_secret": ("regenerate",),
    "mfa.totp.internal.auth.validate_totp_code": ("secret", "code"),
    "mfa.webauthn.internal.auth": (),
}


def imported_names(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {f"{node.module}.{name.name}" for node in froms for name in node.names}


@pytest.mark.parametrize("name", INTERNAL)
def test_an_internal_name_is_where_it_was_and_takes_what_it_took(name: str) -> None:
    try:
        found = import_string(f"allauth.{name}")
    except ImportError:
        pytest.fail(f"django-allauth no longer has allauth.{name}: look for it in its release notes")

    taken = tuple(inspect.signature(found).parameters) if callable(found) else ()
    assert taken == INTERNAL[name], f"allauth.{name} now takes {taken}"


def test_every_internal_name_that_we_import_is_in_the_list() -> None:
    files = [path for package in ("config", "kilit") for path in (ROOT / package).rglob("*.py")]
    names = set().union(*(imported_names(path) for path in files))

    used = {name.removeprefix("allauth.") for name in names if name.startswith("allauth.") and ".internal" in name}
    assert used == set(INTERNAL)
