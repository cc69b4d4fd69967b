"""The endpoints of messages: lists, one with its attempts, and a retry."""

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response

from kilit.api.openapi import endpoint
from kilit.lock.audit import for_reason
from kilit.sites.scopes import scopes_seen_by
from kilit.workers import doorbells
from outbox import schemas
from outbox.api.access import OneMessageView, OutboxView, note_of
from outbox.api.presenters import message_page, present_message, present_message_detail
from outbox.states import MESSAGES


class MessagesView(OutboxView):
    @endpoint(schemas.MessagePage, query=schemas.MessagesQuery)
    def get(self, request: Request, query: schemas.MessagesQuery) -> Response:
        """List messages.

        Newest first. Pass `next_cursor` as `cursor` for the next page; pages are stable while messages move.
        """
        return Response(message_page(query, scopes_seen_by(request.user)))


class MessageView(OneMessageView):
    @endpoint(schemas.MessageDetail)
    def get(self, request: Request, pk: str) -> Response:
        """Get a message with its attempts."""
        return Response(present_message_detail(self.find_message(request, pk)))


class RetryMessageView(OneMessageView):
    @endpoint(schemas.MessageShown, errors={409: {"MOVE_REFUSED": "Only a failed message can be retried."}})
    def post(self, request: Request, pk: str) -> Response:
        """Retry a failed message.

        It gets all attempts of the schedule again, and keeps its id.
        """
        message = self.find_message(request, pk)
        with transaction.atomic(), for_reason(note_of(request)):
            message.retry()
            doorbells.ring(MESSAGES.queue)
        message.refresh_from_db()
        return Response(present_message(message))
