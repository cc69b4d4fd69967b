"""A listener on this machine that notes what reaches it."""

import re
import socket
import threading

STUN = (
    "<script>var c = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}});"
    "c.createDataChannel('x'); c.createOffer().then(o => c.setLocalDescription(o))</script>"
)


class Listener:
    """A server that records requests, and a port that records datagrams."""

    def __init__(self) -> None:
        self.hits: set[str] = set()
        self.connections = self.datagrams = 0
        self.tcp = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.port, self.udp_port = self.tcp.getsockname()[1], self.udp.getsockname()[1]
        for serve in (self._serve, self._receive):
            threading.Thread(target=serve, daemon=True).start()

    def page(self, tries: dict[str, str]) -> str:
        """Return a page with all the tries."""
        return "".join(markup.format(url=f"http://127.0.0.1:{self.port}/{name}") for name, markup in tries.items())

    def stun(self) -> str:
        return STUN.format(port=self.udp_port)

    def heard(self, tries: set[str]) -> bool:
        return tries <= self.hits

    def close(self) -> None:
        self.tcp.close()
        self.udp.close()

    def _serve(self) -> None:
        while True:
            try:
                channel, _ = self.tcp.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=[channel], daemon=True).start()

    def _answer(self, channel: socket.socket) -> None:
        with channel:
            channel.settimeout(5)
            try:
                asked = channel.recv(4096).decode("latin-1")
                if asked:
                    self.hits.add(re.split(r"[/?]", asked.split()[1])[1])
                channel.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except OSError:
                return

    def _receive(self) -> None:
        while True:
            try:
                self.udp.recv(2048)
            except OSError:
                return
            self.datagrams += 1
            self.hits.add("stun")
