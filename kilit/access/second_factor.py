"""The second factor of a login: codes of an authenticator app, passkeys (kilit.access.passkeys) and recovery codes.

django-allauth stores them and keeps a login that is not complete: there is no session before the second factor is
given. Wrong codes count like wrong passwords. All counts are in the database: each web process has its own memory.
"""

import logging
from collections.abc import Iterable
from datetime import timedelta
from time import time
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY, get_authentication_records
from allauth.account.internal.flows.login import record_authentication
from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.internal.flows import delete_dangling_recovery_codes
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, validate_totp_code
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from kilit.access.encryption import DecryptionError, decrypt, encrypt
from kilit.access.lockout import CODE_LIFE, client_address, lock_out, seconds_to_wait
from kilit.access.models.login_window import LoginWindow, window_name

logger = logging.getLogger("kilit.access")

BACKEND = "django.contrib.auth.backends.ModelBackend"
MAIN_TYPES = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)  # recovery codes only help out for one of these
ENCRYPTED = ("secret", "seed")  # keys of Authenticator.data
CONFIRMED_FOR = timedelta(minutes=5)  # then a change of the second factor asks for the password again


def is_on() -> bool:
    return bool(settings.SECOND_FACTOR != "off")


def has_second_factor(user: User) -> bool:
    return bool(Authenticator.objects.filter(user=user, type__in=MAIN_TYPES).exists())


def with_second_factor(users: QuerySet[User]) -> QuerySet[User]:
    authenticators = Authenticator.objects.filter(user=OuterRef("pk"), type__in=MAIN_TYPES)
    return users.annotate(has_second_factor=Exists(authenticators))


class LoginAdapter(DefaultAccountAdapter):
    """Logins as Kilit wants them: nobody signs up, and redirects stay on this host."""

    def get_login_stages(self) -> list[str]:
        return ["allauth.mfa.stages.AuthenticateStage"] if is_on() else []

    def login(self, request: HttpRequest, user: User) -> None:
        login(request, user, backend=BACKEND)

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_safe_url(self, url: str | None) -> bool:
        request: HttpRequest = self.request
        return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())

    def add_message(self, *args: object, **options: object) -> None:
        """Our pages have their own messages."""


class SecondFactorAdapter(DefaultMFAAdapter):
    def encrypt(self, text: str) -> str:
        return encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text)

    def get_totp_label(self, user: User) -> str:
        return user.get_username()


def reencrypt_second_factors() -> int:
    """Encrypt secrets with the first key; `manage.py reencrypt_secrets` calls it in a transaction."""
    count = 0
    for authenticator in Authenticator.objects.select_for_update().order_by("pk"):
        stored = [name for name in ENCRYPTED if name in authenticator.data]
        authenticator.data |= {name: encrypt(decrypt(authenticator.data[name])) for name in stored}
        authenticator.save(update_fields=["data"])
        count += len(stored)
    return count


# Codes


def check_code(request: HttpRequest, user: User, code: str) -> Authenticator | None:
    """Return what the code belongs to; a wrong one counts towards the lockouts of wrong passwords."""
    if not count_try(request, user):
        return None
    for authenticator in Authenticator.objects.filter(user=user).order_by("-type"):
        if _matches(authenticator, code):
            forget_wrong_codes(user.get_username())
            return authenticator
    count_failure(request, user)
    return None


def count_try(request: HttpRequest, user: User) -> bool:
    """Count a try by user alone, before it is looked at; if it is one too many, return False and show the lockout.

    So many at once, or from many addresses, are no more than LOGIN_TRIES. Only those who know the password get
    here, so nobody can lock a user out this way.
    """
    username = user.get_username()
    allowed = not seconds_to_wait(username, client_address(request)) and LoginWindow.objects.count_below(
        window_name("codes", username), limit=settings.LOGIN_TRIES, window=settings.LOCKOUT_TIME
    )
    if not allowed:
        lock_out(request, username)
    return allowed


def count_failure(request: HttpRequest, user: User) -> None:
    user_login_failed.send(sender=__name__, credentials={"username": user.get_username()}, request=request)


def forget_wrong_codes(username: str) -> None:
    """Take codes of a user again; a new password does not, or someone who reads a mailbox could go on guessing."""
    LoginWindow.objects.filter(name=window_name("codes", username)).delete()


def _matches(authenticator: Authenticator, code: str) -> bool:
    try:
        match authenticator.type:
            case Authenticator.Type.TOTP:
                secret = decrypt(authenticator.data["secret"])
                return validate_totp_code(secret, code) and _use_once(authenticator, code)
            case Authenticator.Type.RECOVERY_CODES:
                return bool(authenticator.wrap().validate_code(code))
    except DecryptionError:
        logger.error("none of KILIT_CREDENTIAL_KEYS decrypts a second factor; an owner can remove it")
    return False


def _use_once(authenticator: Authenticator, code: str) -> bool:
    """A code that someone saw while it was entered must not work again."""
    name = window_name("used-code", str(authenticator.pk), normalize_user_code(code))
    return LoginWindow.objects.count_below(name, limit=1, window=CODE_LIFE)


# Sessions: django-allauth keeps in each how its user was authenticated, and when


def gave_second_factor(request: HttpRequest) -> bool:
    return "mfa" in {record["method"] for record in _records(request)}


def lacks_second_factor(request: HttpRequest) -> bool:
    """Return whether the session was started without a second factor, although one is required.

    A login by a provider of OpenID Connect counts as one: the provider asks for its own.
    """
    if settings.SECOND_FACTOR != "required" or not request.user.is_authenticated:
        return False
    return not {"mfa", "socialaccount"} & {record["method"] for record in _records(request)}


def confirmed_recently(request: HttpRequest) -> bool:
    times = [record["at"] for record in _records(request)]
    return bool(times) and time() - max(times) < CONFIRMED_FOR.total_seconds()


def _records(request: HttpRequest) -> list[dict[str, Any]]:
    records: list[dict[str, object]] = get_authentication_records(request, request.user)
    return records


def confirm(request: HttpRequest, user: User) -> None:
    record_authentication(request, user, method="password", reauthenticated=True)


# Adding and removing; each leaves a line in the log of the user's page


@transaction.atomic
def add_app(request: HttpRequest, user: User, secret: str) -> None:
    _lock(user)
    if Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists():
        return  # the form was sent twice
    remember(request, user, TOTP.activate(user, secret).instance, "Added an authenticator app")
    add_recovery_codes(user)


def add_recovery_codes(user: User) -> None:
    """Make recovery codes, unless the user has some."""
    RecoveryCodes.activate(user)


@transaction.atomic
def replace_recovery_codes(user: User) -> None:
    _lock(user)
    Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).delete()
    add_recovery_codes(user)
    _log(user, [user], "Made new recovery codes")


@transaction.atomic
def remove_own(request: HttpRequest, user: User, authenticator: Authenticator, message: str) -> None:
    _lock(user)
    authenticator.delete()
    if delete_dangling_recovery_codes(user) or not has_second_factor(user):
        records = get_authentication_records(request, user)
        others = [record for record in records if record["method"] != "mfa"]
        request.session[AUTHENTICATION_METHODS_SESSION_KEY] = others
    _log(user, [user], message)


@transaction.atomic
def remove_all(by: User, users: Iterable[User]) -> int:
    """Remove the second factors of others, for those who lost theirs; return how many users had any."""
    having = [user for user in users if Authenticator.objects.filter(user=user).delete()[0]]
    if having:
        _log(by, having, "Removed the second factor")
    return len(having)


def _lock(user: User) -> None:
    User.objects.select_for_update().get(pk=user.pk)


def remember(request: HttpRequest, user: User, authenticator: Authenticator, message: str) -> None:
    """Log what was added; who has just added it has also shown to have it, in this session."""
    record_authentication(request, user, method="mfa", id=authenticator.pk, type=authenticator.type)
    _log(user, [user], message)


def _log(by: User, users: Iterable[User], message: str) -> None:
    LogEntry.objects.log_actions(by.pk, users, CHANGE, change_message=message)
