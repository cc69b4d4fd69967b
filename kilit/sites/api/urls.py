"""URLs of members, keys and operations, below /api/oci/."""

from django.urls import path

from kilit.sites.api import keys, members, operations

urlpatterns = [
    path("sites/pause", operations.PauseSitesView.as_view()),
    path("sites/resume", operations.ResumeSitesView.as_view()),
    path("sites/archive", operations.ArchiveSitesView.as_view()),
    path("sites/restore", operations.RestoreSitesView.as_view()),
    path("members", members.MembersView.as_view()),
    path("keys", keys.KeysView.as_view()),
    path("keys/revoke", keys.RevokeKeysView.as_view()),
]
