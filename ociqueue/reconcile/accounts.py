"""The sites that upload to one Google account: Google counts them together."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from kilit.access.encryption import DecryptionError
from ociqueue.models import Credentials, ReadBack, Site
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.states import UPLOADED_HERE


@dataclass(frozen=True)
class AccountMember:
    site: Site
    account: GoogleAdsAccount | None = None
    mapped_since: datetime | None = None  # when the names of conversions got the actions that they have now

    def action_of(self, names: Mapping[str, str]) -> Callable[[str], str]:
        """Return a function from a conversion name to Google's action; scripts send the action's own name."""
        if self.account is None:
            return lambda name: names.get(name, name)
        account = self.account
        return lambda name: account.action_of(name).rpartition("/")[2]


def members_of(stored: ReadBack) -> Iterator[AccountMember]:
    """Return the sites with a login for the account, and those whose script runs in it."""
    with_login = set()
    mapped_since = dict(ReadBack.objects.exclude(actions=None).values_list("site", "mapped_since"))
    for login in Credentials.objects.filter(site__sync_method__in=UPLOADED_HERE).select_related("site"):
        with suppress(DecryptionError):
            account = login.account()
            if account.customer_id == stored.customer_id:
                with_login.add(login.site_id)
                yield AccountMember(login.site, account, mapped_since.get(login.site_id, login.changed_at))
    in_account = Q(pk=stored.site_id)
    if stored.customer_id:
        in_account |= Q(read_back__customer_id=stored.customer_id)
    for site in Site.objects.filter(in_account).exclude(pk__in=with_login):
        yield AccountMember(site)


def note_actions(login: Credentials, account: GoogleAdsAccount) -> None:
    """Store which actions the site's conversions have, and since when: new credentials may have the same ones."""
    actions = {"": account.conversion_action, **account.conversion_actions}
    changed = ReadBack.objects.filter(Q(actions=None) | ~Q(actions=actions), site=login.site_id)
    changed.update(actions=actions, mapped_since=login.changed_at)
