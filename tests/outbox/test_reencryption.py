"""Secrets of endpoints and addresses of channels survive a rotation of the keys that encrypt them."""

import io

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.utils import timezone

from kilit.access import encryption
from kilit.access.encryption import encrypt
from ociqueue.models import ImportChunk
from outbox.models import Channel, Endpoint
from tests.support.outbox import make_endpoint

pytestmark = pytest.mark.django_db


def reencrypt() -> str:
    out = io.StringIO()
    call_command("reencrypt_secrets", stdout=out)
    return out.getvalue()


def test_every_secret_is_encrypted_with_the_new_key(settings) -> None:
    settings.CREDENTIAL_KEYS = ["old"]
    endpoint, plain = make_endpoint(), make_endpoint()
    endpoint.rotate_secret()
    channel = Channel.objects.create(encrypted_address=encrypt("tgram://token/1"))
    secrets = endpoint.secrets(timezone.now()) + plain.secrets(timezone.now())

    settings.CREDENTIAL_KEYS = ["new", "old"]
    printed = reencrypt()

    settings.CREDENTIAL_KEYS = ["new"]
    assert printed == "Encrypted 4.\n"
    stored = {row.pk: row for row in Endpoint.objects.all()}
    both = stored[endpoint.pk].secrets(timezone.now()) + stored[plain.pk].secrets(timezone.now())
    assert (both, Channel.objects.get(pk=channel.pk).address) == (secrets, "tgram://token/1")


def test_one_secret_that_cannot_be_decrypted_changes_none(settings) -> None:
    settings.CREDENTIAL_KEYS = ["old"]
    make_endpoint()
    settings.CREDENTIAL_KEYS = ["lost"]
    make_endpoint()
    before = set(Endpoint.objects.values_list("encrypted_secret", flat=True))

    settings.CREDENTIAL_KEYS = ["new", "old"]
    with pytest.raises(CommandError, match="Nothing was changed"):
        reencrypt()

    assert set(Endpoint.objects.values_list("encrypted_secret", flat=True)) == before


def test_every_encrypted_column_is_registered() -> None:
    columns = {
        (model, field.name)
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if field.name.startswith("encrypted") or field.name == "previous_secret"
    }

    columns.add((ImportChunk, "content"))
    assert {(model, name) for model, names in encryption.encrypted_columns.items() for name in names} == columns
