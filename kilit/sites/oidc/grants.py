"""KILIT_OIDC_GROUPS: which role, and which site's membership, a group of the provider gives."""

from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

ROLES = ("viewer", "operator", "admin", "owner")  # from least to most, as kilit.access.roles
OWNER = "owner"
FORM = (
    "Use group=role or group=role@public-id-of-a-site, separated by semicolons, with a role of viewer, operator, admin "
    "or owner. An owner is of no site."
)


@dataclass(frozen=True)
class Grant:
    group: str
    role: str
    site: str  # its public id, or "" for no membership


def read_grants(text: str) -> list[Grant]:
    return [_read(part.strip()) for part in text.split(";") if part.strip()]


def highest(roles: list[str]) -> str:
    return max(roles, key=ROLES.index)


def _read(part: str) -> Grant:
    group, _, given = part.rpartition("=")  # names of groups may contain the sign: cn=ops,dc=example
    role, at, site = (word.strip() for word in given.partition("@"))
    if not group.strip() or role not in ROLES or bool(at) != bool(site) or (site and role == OWNER):
        raise ImproperlyConfigured(f"KILIT_OIDC_GROUPS: {part!r} cannot be read. {FORM}")
    return Grant(group.strip(), role, site)
