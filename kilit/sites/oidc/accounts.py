"""The user of a person at the provider: found, joined or made, with the roles that their groups give."""

import re

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.db import transaction

from kilit.access.roles import Role
from kilit.postgres.collation import is_same_text
from kilit.sites.models import SiteMembership, Tenant
from kilit.sites.oidc.grants import Grant, highest
from kilit.sites.oidc.provider import UnverifiedError
from kilit.sites.people import KEYS_USERS

LONGEST_SUBJECT = 191  # as django-allauth stores it
NOT_IN_NAMES = re.compile(r"[^\w.@+-]")


class NotInvitedError(Exception):
    """The person is in no group that may use the console."""


class InactiveError(Exception):
    """The person's user was deactivated here."""


@transaction.atomic
def user_of(claims: dict[str, object]) -> User:
    """Return the user, with the roles that the person's groups give at this moment."""
    grants = granted(claims)
    if not grants:
        raise NotInvitedError
    subject = str(claims["sub"])
    if len(subject) > LONGEST_SUBJECT or "\0" in subject:
        raise UnverifiedError("the subject cannot be stored")
    # The issuer is part of who it is: another provider's subject may be the same.
    known = SocialAccount.objects.filter(provider=settings.OIDC_ISSUER, uid=subject).select_related("user").first()
    user: User | None = known.user if known else _with_same_address(claims)
    if user and not user.is_active:
        raise InactiveError
    if user is None:
        user = _new_user(claims)
    if known is None:
        SocialAccount.objects.create(provider=settings.OIDC_ISSUER, uid=subject, user=user, extra_data={})
    set_roles(user, grants)
    return user


def granted(claims: dict[str, object]) -> list[Grant]:
    groups = claims.get(settings.OIDC_GROUP_CLAIM)
    names = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    return [grant for grant in settings.OIDC_GRANTS if grant.group in names]


def set_roles(user: User, grants: list[Grant]) -> None:
    """Give exactly the roles of the grants; memberships of sites that KILIT_OIDC_GROUPS does not name stay."""
    role = highest([grant.role for grant in grants])
    before, held = set(user.groups.filter(name__in=Role.values).values_list("name", flat=True)), {role}
    user.groups.remove(*Group.objects.filter(name__in=before - held))
    user.groups.add(*Group.objects.filter(name__in=held - before))
    named = Tenant.objects.filter(public_id__in={grant.site for grant in settings.OIDC_GRANTS if grant.site})
    changed = before != held
    for site in named:
        roles = [grant.role for grant in grants if grant.site == site.public_id]
        own = SiteMembership.objects.filter(site=site, user=user)
        if not roles:
            changed |= bool(own.delete()[0])
        elif not own.filter(role=highest(roles)).exists():
            SiteMembership.objects.update_or_create(site=site, user=user, defaults={"role": highest(roles)})
            changed = True
    if changed:
        LogEntry.objects.log_actions(
            user.pk, [user], CHANGE, change_message="Set roles by groups at the login provider"
        )


def _with_same_address(claims: dict[str, object]) -> User | None:
    """Return the one user with the same e-mail address, if users are joined by it and the provider has verified it.

    Never an owner, a superuser or a service: someone who controls addresses at the provider would become them.
    """
    email = _text(claims, "email", 254)
    if not settings.OIDC_JOIN_BY_EMAIL or claims.get("email_verified") is not True or not email:
        return None
    people = User.objects.filter(is_same_text("email", email), is_staff=True, is_superuser=False)
    people = (
        people.exclude(groups__name=Role.OWNER)
        .exclude(username__regex=KEYS_USERS)
        .exclude(socialaccount__provider=settings.OIDC_ISSUER)
    )
    found = [user for user in people.select_for_update(of=("self",)) if user.has_usable_password()]
    return found[0] if len(found) == 1 else None


def _new_user(claims: dict[str, object]) -> User:
    user = User(
        username=_free_name(str(claims.get("preferred_username") or claims.get("email") or claims["sub"])),
        email=_text(claims, "email", 254),
        first_name=_text(claims, "given_name", 150),
        last_name=_text(claims, "family_name", 150),
        is_staff=True,
    )
    user.set_unusable_password()
    user.save()
    return user


def _free_name(wanted: str) -> str:
    """Return the name, with a number if it is taken: a user is never found by name alone."""
    base = NOT_IN_NAMES.sub("-", wanted)[:140]
    if re.match(KEYS_USERS, base):
        base = f"oidc-{base}"
    name, number = base, 1
    while User.objects.filter(is_same_text("username", name)).exists():
        number += 1
        name = f"{base}-{number}"
    return name


def _text(claims: dict[str, object], name: str, longest: int) -> str:
    value = claims.get(name)
    return value.replace("\0", "")[:longest] if isinstance(value, str) else ""
