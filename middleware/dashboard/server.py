"""The shell of the dashboard: an HTTP server on the loopback address, h11 under asyncio's streams."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from importlib.resources import files

from contentdb.errors import RemoteError, StoreError, UsageError
from middleware.dashboard.connection import WebConnection
from middleware.dashboard.routes import Routes
from middleware.dashboard.web import Answer, FileAnswer, Refused, Reply, Request, Stream

log = logging.getLogger(__name__)
HOST = "127.0.0.1"
PIECE_BYTES = 65_536
# A browser opens six; a page that is forgotten open in several tabs should not shut out the next.
MAX_CONNECTIONS = 48
# From the first byte of a request to its last header, and between requests.
HEAD_S, IDLE_S, WRITE_S = 10.0, 75.0, 60.0
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
Upload = Callable[[str, AsyncIterator[bytes]], Awaitable[str]]


def page_files() -> dict[str, tuple[str, bytes]]:
    """The static files by their path, with their types."""
    found = {}
    for file in files("middleware.dashboard").joinpath("static").iterdir():
        kind = TYPES["." + file.name.rpartition(".")[2]]
        found[f"/{file.name}"] = (kind, file.read_bytes())
    found["/"] = found.pop("/index.html")
    return found


class DashboardServer:
    def __init__(self, upload: Upload) -> None:
        self._upload = upload
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, port: int) -> int:
        """Begin to accept; returns the port, any free one if the wanted is taken."""
        try:
            self._server = await asyncio.start_server(self._accept, HOST, port, limit=PIECE_BYTES)
        except OSError:
            self._server = await asyncio.start_server(self._accept, HOST, 0, limit=PIECE_BYTES)
        return int(self._server.sockets[0].getsockname()[1])

    def serve(self, routes: Routes) -> None:
        """From now on answer; who connected earlier waits until then."""
        self._routes = routes

    async def close(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._tasks) >= MAX_CONNECTIONS:
            writer.close()
            return
        self._tasks.add(task)
        try:
            await _Browser(reader, writer, self._routes, self._upload).serve()
        except (OSError, ConnectionError, TimeoutError, asyncio.CancelledError):
            pass  # it has gone, or we are going
        finally:
            self._tasks.discard(task)
            writer.close()


class _Browser:
    """One connection, request after request."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, routes: Routes, upload: Upload
    ) -> None:
        self._reader, self._writer, self._routes, self._upload = reader, writer, routes, upload
        self._web = WebConnection()

    async def serve(self) -> None:
        wait_s = HEAD_S
        while True:
            try:
                async with asyncio.timeout(wait_s):
                    request = await self._request()
                reply = await self._reply(request)
                await self._write(reply, has_body=request.method != "HEAD")
            except Refused as refused:
                if not self._web.has_answered:
                    await self._write(refused.answer)
                return  # what is left of the request is not worth reading
            if not self._web.begin_next():
                return
            wait_s = IDLE_S

    async def _request(self) -> Request:
        while (request := self._web.next_request()) is None:
            self._web.receive(await self._reader.read(PIECE_BYTES))
        return request

    async def _reply(self, request: Request) -> Reply:
        limit = self._routes.check(request)
        if self._web.awaits_continue:
            await self._send(self._web.encode_continue())
        if limit is None:
            return await self._uploaded(request)
        body = bytearray()
        async for piece in self._body():
            body += piece
            if len(body) > limit:
                raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {limit} bytes are allowed here")
        return await self._routes.answer(request, bytes(body))

    async def _uploaded(self, request: Request) -> Answer:
        try:
            upload = await self._upload(request.query.get("name", ""), self._body())
        except (UsageError, RemoteError) as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None
        except StoreError as error:
            raise Refused(HTTPStatus.INSUFFICIENT_STORAGE, str(error)) from None
        return Answer(HTTPStatus.OK, f'{{"upload":"{upload}"}}'.encode(), "application/json")

    async def _body(self) -> AsyncIterator[bytes]:
        while (piece := self._web.next_piece()) != b"":
            if piece is not None:
                yield piece
                continue
            async with asyncio.timeout(IDLE_S):
                self._web.receive(await self._reader.read(PIECE_BYTES))

    # -- answers

    async def _write(self, reply: Reply, *, has_body: bool = True) -> None:
        await self._send(self._web.encode_head(reply))
        if isinstance(reply, Stream):
            await self._write_stream(reply)
        elif not has_body:
            pass
        elif isinstance(reply, FileAnswer):
            await self._write_file(reply)
        elif reply.body:
            await self._send(self._web.encode_piece(reply.body))
        await self._send(self._web.encode_end())

    async def _write_file(self, reply: FileAnswer) -> None:
        # Pieces of 64 KiB from a file that was just looked at: no thread is worth its cost here.
        with reply.path.open("rb") as file:
            file.seek(reply.first)
            left = reply.length
            while left:
                piece = file.read(min(left, PIECE_BYTES))
                if not piece:
                    raise ConnectionError("the file was cut while it was sent")
                left -= len(piece)
                await self._send(self._web.encode_piece(piece))

    async def _write_stream(self, reply: Stream) -> None:
        gone = asyncio.ensure_future(self._reader.read(1))  # a browser sends nothing more; it closes
        pieces = aiter(reply.pieces)
        try:
            while not gone.done():
                following = asyncio.ensure_future(anext(pieces))
                await asyncio.wait({gone, following}, return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    following.cancel()
                    break
                await self._send(self._web.encode_piece(following.result()))
        finally:
            gone.cancel()
        raise ConnectionError("the page was closed")

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        async with asyncio.timeout(WRITE_S):
            await self._writer.drain()
