"""Names of those who own API keys; an app whose keys belong to technical users says what people call them."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from django.http import HttpRequest
from unfold.views import ChangeList

from kilit.access.models import ApiKey

OwnerNames = Callable[[Collection[str]], Mapping[str, str]]  # from user names to what people know
OwnersNamed = Callable[[str], Collection[str]]  # from a part of such a name to user names
sources: list[OwnerNames] = []
searches: list[OwnersNamed] = []


def register_owner_names(source: OwnerNames, search: OwnersNamed) -> None:
    sources.append(source)
    searches.append(search)


def owners_named(text: str) -> list[str]:
    return [username for search in searches for username in search(text)]


def owner_names(usernames: Collection[str]) -> dict[str, str]:
    found = {username: username for username in usernames}
    for source in sources:
        found.update(source(usernames))
    return found


def owner_name(key: ApiKey) -> str:
    known = getattr(key, "owner_name", None)
    return known or owner_names([key.user.get_username()])[key.user.get_username()]


class KeyChangeList(ChangeList):
    """Looks up the owners of all keys of a page at once."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        names = owner_names({key.user.get_username() for key in self.result_list})
        for key in self.result_list:
            key.owner_name = names[key.user.get_username()]
