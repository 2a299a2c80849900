"""A web server on loopback that answers as a test wants, badly if it wants that."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[["Asked"], None]


class Asked(BaseHTTPRequestHandler):
    """One request; the answer is a function that writes whatever it likes."""

    server: "Web"
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.close_connection = True
        self.server.asked.append((self.path, dict(self.headers)))
        answer = self.server.answers.get(self.path)
        if answer is None:
            self.reply(b"", status=404)
        else:
            answer(self)

    def reply(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def send_raw(self, *lines: str) -> None:
        self.wfile.write("\r\n".join([*lines, "", ""]).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


class Web(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up on us are what many tests are about."""

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def paths(self) -> list[str]:
        return [path for path, _headers in self.asked]

    def serve(self, path: str, body: bytes, **headers: str) -> None:
        """As a well-behaved server does: with an ETag, 304, and ranges."""
        tag = headers.setdefault("ETag", f'"{hash(body) & 0xFFFFFF}"')

        def answer(asked: Asked) -> None:
            start = asked.headers.get("Range", "").removeprefix("bytes=").rstrip("-")
            if asked.headers.get("If-None-Match") == tag:
                asked.reply(b"", 304, **headers)
            elif start and asked.headers.get("If-Range") == tag:
                whole = f"bytes {start}-{len(body) - 1}/{len(body)}"
                asked.reply(body[int(start) :], 206, Content_Range=whole, **headers)
            else:
                asked.reply(body, 200, **headers)

        self.answers[path] = answer

    def redirect(self, path: str, to: str, status: int = 302) -> None:
        self.answers[path] = lambda asked: asked.reply(b"", status, Location=to)


@contextmanager
def web_server() -> Iterator[Web]:
    with Web() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
