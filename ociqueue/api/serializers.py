"""Request bodies; unknown keys are ignored, as deployed scripts expect."""

from typing import Any

from rest_framework import serializers

from ociqueue.api.fields import AnyField, IdsField, MessageField
from ociqueue.states import SCRIPT_CATEGORIES, Category, ConversionStatus

MOST_EXPORTED = 10_000
MOST_ACTED_ON = 5_000
MOST_ENQUEUED = 5_000


class SiteSerializer(serializers.Serializer[Any]):
    """A site, by its public id or uuid."""

    siteId = serializers.CharField(max_length=64)


class ExportSerializer(SiteSerializer):
    """Only the literal `markAsExported=true` claims."""

    markAsExported = serializers.CharField(default="false", max_length=16, allow_blank=True, trim_whitespace=False)
    limit = serializers.IntegerField(default=5_000, min_value=1, max_value=MOST_EXPORTED)


class AckSerializer(SiteSerializer):
    """What was uploaded, and what was skipped on purpose."""

    queueIds = IdsField(most=MOST_EXPORTED)
    skippedIds = IdsField(most=MOST_EXPORTED, default=list, allow_null=True)


class AckFailedSerializer(SiteSerializer):
    """What could not be uploaded, and why."""

    queueIds = IdsField(most=MOST_EXPORTED)
    errorCode = serializers.CharField(default="VALIDATION_FAILED", max_length=64)
    errorMessage = MessageField(default="", allow_null=True)
    errorCategory = serializers.ChoiceField(choices=SCRIPT_CATEGORIES)


class EnqueueSerializer(SiteSerializer):
    """Conversions; each is validated separately, so that one invalid conversion does not block the others."""

    conversions = serializers.ListField(child=AnyField(allow_null=True), min_length=1, max_length=MOST_ENQUEUED)


class StatsSerializer(serializers.Serializer[Any]):
    """One site, or all of the user's."""

    siteId = serializers.CharField(max_length=64, required=False)
    scope = serializers.ChoiceField(choices=["site", "multi"], default="site")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["scope"] == "site" and "siteId" not in attrs:
            raise serializers.ValidationError({"siteId": "This field is required."})
        return attrs


class RowsSerializer(SiteSerializer):
    """A page of rows."""

    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)
    status = serializers.ChoiceField(choices=ConversionStatus.choices, required=False)
    cursor = serializers.CharField(required=False, max_length=64)


class ActionSerializer(SiteSerializer):
    """An operator's action."""

    action = serializers.ChoiceField(choices=["RETRY_SELECTED", "RESET_TO_QUEUED", "MARK_FAILED"])
    ids = IdsField(most=MOST_ACTED_ON)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=1000)
    errorCode = serializers.CharField(required=False, allow_blank=True, max_length=64)
    errorCategory = serializers.ChoiceField(choices=Category.choices, required=False)
    clearErrors = serializers.BooleanField(default=False)
