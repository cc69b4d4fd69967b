"""Sites and members as the endpoints for agencies answer them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ociqueue.models import Site, SiteMembership
from ociqueue.sites.member_files import MemberChange
from ociqueue.sites.site_files import STORED, SiteChange


def summary(results: list[dict[str, Any]], statuses: Sequence[str], *, dry_run: bool) -> dict[str, Any]:
    counts = Counter(result["status"] for result in results)
    return {"dryRun": dry_run, **{status: counts[status] for status in statuses}, "results": results}


def present_site(site: Site) -> dict[str, object]:
    return {
        "publicId": site.public_id,
        **{name: getattr(site, column) for name, column in STORED.items()},
        "isPaused": site.is_paused,
        "pauseReason": site.pause_reason,
        "archivedAt": site.archived_at,
        "lastExportAt": site.last_export_at,
        "lastAckAt": site.last_ack_at,
        "createdAt": site.created_at,
    }


def present_stored_site(change: SiteChange, *, dry_run: bool) -> dict[str, object]:
    status = "created" if change.is_new else "changed" if change.changes else "unchanged"
    values = {
        name: {"before": None if change.is_new else before, "after": after}
        for name, (before, after) in change.changes.items()
    }
    return {
        "index": change.line,
        "status": status,
        "publicId": None if change.is_new and dry_run else change.site.public_id,
        "name": change.site.name,
        "isArchived": change.site.archived_at is not None,
        "changes": values,
    }


def present_member(member: SiteMembership) -> dict[str, object]:
    person = member.user
    return {
        "username": person.username,
        "email": person.email,
        "firstName": person.first_name,
        "lastName": person.last_name,
        "isActive": person.is_active,
        "site": member.site.public_id,
        "siteName": member.site.name,
        "role": member.role,
    }


def present_stored_member(change: MemberChange, *, is_new: bool) -> dict[str, object]:
    before, after = change.before or None, change.after or None
    status = "unchanged" if before == after else "created" if not before else "changed" if after else "ended"
    return {
        "index": change.line,
        "status": status,
        "username": change.person.username,
        "isNewPerson": is_new,
        "site": change.site.public_id,
        "before": before,
        "after": after,
    }
