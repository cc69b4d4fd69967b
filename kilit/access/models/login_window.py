"""Failed logins and password resets, counted by address and by name, and the addresses from which a user has logged in.

Names and addresses are stored as keyed hashes: nothing has to be read back from them. Only failed logins also have them
in clear, for the admin who is asked to unlock someone.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from kilit.database.sql import execute

KNOWN_FOR = timedelta(days=90)

# One statement, so that no failure is lost; a count that was not raised for as long as a lockout starts again.
COUNT = """
    INSERT INTO access_loginwindow AS login (name, username, address, failures, last_at)
    VALUES (%s, %s, %s, 1, statement_timestamp())
    ON CONFLICT (name) DO UPDATE SET
      failures = CASE WHEN login.last_at < excluded.last_at - make_interval(secs => %s) THEN 1
        ELSE login.failures + 1 END,
      last_at = excluded.last_at
"""
# The same, unless the count has reached a limit.
BELOW = f"{COUNT} WHERE login.failures < %s OR login.last_at < excluded.last_at - make_interval(secs => %s)"


class LoginWindowQuerySet(models.QuerySet["LoginWindow"]):
    def add_failure(self, name: str, *, window: timedelta, username: str = "", address: str = "") -> None:
        execute(COUNT, [name, username, address, window.total_seconds()])

    def count_below(self, name: str, *, limit: int, window: timedelta) -> bool:
        """Count one more; at the limit, return False and leave the count as it is."""
        seconds = window.total_seconds()
        return bool(execute(BELOW, [name, "", "", seconds, limit, seconds]))

    def note_login(self, name: str) -> None:
        self.update_or_create(name=name, defaults={"failures": 0, "last_at": Now()})

    def with_age(self, names: Iterable[str]) -> Self:
        return self.filter(name__in=names).annotate(
            age=models.ExpressionWrapper(Now() - models.F("last_at"), output_field=models.DurationField())
        )

    def forget_old(self, *, window: timedelta) -> int:
        """Delete what no longer counts: there is a row for each address and name that was tried."""
        is_known = models.Q(name__startswith="known:")
        old = models.Q(last_at__lt=Now() - KNOWN_FOR) | ~is_known & models.Q(last_at__lt=Now() - window)
        return self.filter(old).delete()[0]


class LoginWindow(models.Model):
    name = models.CharField(max_length=80, primary_key=True)
    username = models.CharField(_("username"), max_length=150, db_default="")
    address = models.CharField(_("IP address"), max_length=43, db_default="")  # or the network of an IPv6 address
    failures = models.IntegerField(_("failed logins"))
    last_at = models.DateTimeField(_("last failed login"))
    age: timedelta  # of `with_age`

    objects = LoginWindowQuerySet.as_manager()

    class Meta:
        default_permissions = ("view", "delete")
        verbose_name = _("access attempt")
        verbose_name_plural = _("access attempts")

    def __str__(self) -> str:
        return f"{self.username or self.name}: {self.failures}"


def window_name(kind: str, *parts: str) -> str:
    return f"{kind}:{salted_hmac('kilit.access.login_window', chr(0).join(parts), algorithm='sha256').hexdigest()}"
