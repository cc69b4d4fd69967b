"""HTTP for the server: the login, uploads and questions; everything else is not found."""

import urllib.parse
from contextlib import suppress
from socket import SHUT_RDWR
from typing import TYPE_CHECKING

from simulators.datamanager.calls import INGEST, RETRIEVE, Answer, CutConnection, DataManagerCall
from simulators.datamanager.refusals import GoogleRefusal, unauthenticated
from simulators.google.login import TOKEN, JsonHandler, token_answer

if TYPE_CHECKING:
    from simulators.datamanager.server import DataManagerServer


def handler(server: "DataManagerServer") -> type[JsonHandler]:
    class DataManagerHandler(JsonHandler):
        def do_POST(self) -> None:
            body = self.read_body()
            if self.path == "/token":
                self.send_json(*token_answer(server, body))
            else:
                self._answer(body)

        def do_GET(self) -> None:
            self._answer(b"")

        def _answer(self, body: bytes) -> None:
            try:
                self.send_json(200, self._call(body))
            except GoogleRefusal as refusal:
                self.send_json(refusal.code, refusal.json(), refusal.headers)
            except CutConnection:
                self.close_connection = True
                with suppress(OSError):
                    self.connection.shutdown(SHUT_RDWR)

        def _call(self, body: bytes) -> Answer:
            parts = urllib.parse.urlsplit(self.path)
            if (self.command, parts.path) not in {("POST", INGEST), ("GET", RETRIEVE)}:
                raise GoogleRefusal("NOT_FOUND")
            query = dict(urllib.parse.parse_qsl(parts.query))
            kind, _, token = self.headers.get("Authorization", "").partition(" ")
            if kind != "Bearer" or not token.startswith(TOKEN):
                raise unauthenticated()
            client = token.removeprefix(TOKEN).lstrip(".")
            return server.answer(DataManagerCall(server, parts.path, query, body, client))

    return DataManagerHandler
