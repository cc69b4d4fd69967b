"""Reasons that a user gave lately, offered when the next one is asked for."""

from typing import TYPE_CHECKING

from django.db.models import Q

from kilit.lock.models import Activity

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

LOOKED_AT = 200  # of the user's newest activity, by an index
MOST_OFFERED = 8


def recent_reasons(user: "User | AnonymousUser", verb: str) -> list[str]:
    """Return the user's own reasons without repeats: those for this verb first, each kind newest first."""
    newest = Activity.objects.filter(~Q(person=""), person=user.get_username()).order_by("-created_at", "-id")
    given = [entry for entry in newest.values_list("verb", "message")[:LOOKED_AT] if entry[1]]
    in_order = sorted(given, key=lambda entry: entry[0] != verb)
    return list(dict.fromkeys(message for _verb, message in in_order if "\n" not in message))[:MOST_OFFERED]
