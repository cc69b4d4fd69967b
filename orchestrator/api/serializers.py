"""Query parameters and small bodies. Orders are read by orchestrator.orders.order."""

from typing import Any

from rest_framework import serializers

from orchestrator.states import JobState


class ListSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=JobState.choices, required=False)
    order_id = serializers.CharField(required=False, max_length=200)
    cursor = serializers.CharField(required=False, max_length=64)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)


class ReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, allow_null=True, max_length=1000)
