"""Keys of service accounts, as Google hands them out."""

import json
from functools import cache
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


def service_account(**columns: Any) -> str:
    return json.dumps(
        {
            "type": "service_account",
            "project_id": "a-project",
            "private_key_id": "a-key-id",
            "private_key": private_key(),
            "client_email": "kilit@a-project.iam.gserviceaccount.com",
            "client_id": "1",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": "https://oauth2.googleapis.com/token",
            **columns,
        }
    )


@cache
def private_key() -> str:
    return (
        rsa.generate_private_key(public_exponent=65537, key_size=2048)
        .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        .decode()
    )
