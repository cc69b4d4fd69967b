"""The permission that every view of the API asks for, beside its own: the scope of a key."""

from collections.abc import Collection
from typing import Any

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from kilit.access.key_scopes import needed_scope


class MissingScope(PermissionDenied):
    code = "MISSING_SCOPE"

    def __init__(self, needed: str, held: Collection[str]) -> None:
        super().__init__(f"This key does not have the scope {needed}. It has {', '.join(held)}.")
        self.details = {"needed_scope": needed, "key_scopes": list(held)}


class KeyScopePermission(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.auth:
            return True  # a session, not a key
        if not hasattr(view, (request.method or "").lower()):
            return True  # answered with 405, whatever the key may do
        key: Any = getattr(request.auth, "key", request.auth)  # a session token has the scopes of its key
        needed = needed_scope(request.method or "", view, key.scopes)
        if needed not in key.scopes:
            raise MissingScope(needed, key.scopes)
        return True
