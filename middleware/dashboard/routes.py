"""What the dashboard answers: the page itself, calls of the page, its media, and metrics.

Every request is checked for where it comes from; all but the page's own files also for a token.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from contentdb.errors import RemoteError, StoreError, UsageError
from contentdb.names import Root
from middleware.dashboard.access import Access, Media
from middleware.dashboard.web import Answer, FileAnswer, Refused, Reply, Request, Stream, byte_range

Call: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Any]]

# A call holds words, never files; those are uploaded.
MAX_CALL_BYTES = 1 << 18
JSON = "application/json"
NO_STORE = (("Cache-Control", "no-store"),)
# What a page may ask of the node. Nothing here reads or writes a path that the page names.
CALLS = frozenset(
    {
        "block", "contacts", "create_feed", "entries", "entry", "feeds", "neighbours", "pin", "publish",
        "retract", "status", "storage", "subscribe", "subscriptions", "transfers", "unsubscribe", "why",
    }
)  # fmt: skip
PATHS_OF_THE_NODE = frozenset({"files", "into", "descriptors"})


class Waiting(Protocol):
    """Files that were uploaded and are to be published."""

    def files(self, uploads: list[str]) -> list[str]: ...
    def published(self, uploads: list[str]) -> None: ...


class Routes:
    def __init__(
        self,
        access: Access,
        *,
        call: Call,
        file_of: Callable[[Root], Path | None],
        uploads: Waiting,
        live: Callable[[], AsyncIterator[bytes]],
        metrics: Callable[[], Awaitable[str]],
        page: Mapping[str, tuple[str, bytes]],
        at_s: Callable[[], int],
    ) -> None:
        """`page` has the static files by their paths."""
        self._access, self._call, self._file_of, self._uploads = access, call, file_of, uploads
        self._live, self._metrics, self._page, self._at_s = live, metrics, page, at_s

    def check(self, request: Request) -> int | None:
        """Refuse what may not be asked; else how long its body may be, None for as long as there is room."""
        self._access.check_origin(request)
        if request.path == "/metrics":
            self._access.check_metrics(request)
        elif request.path not in self._page and not self._is_media(request):
            self._access.check_page(request)
        if request.path == "/upload" and request.method == "POST":
            return None
        return MAX_CALL_BYTES if request.method == "POST" else 0

    @staticmethod
    def _is_media(request: Request) -> bool:
        return request.path.startswith("/media/") and request.method in ("GET", "HEAD")

    async def answer(self, request: Request, body: bytes) -> Reply:
        """Answer a request that was checked."""
        if request.method in ("GET", "HEAD"):
            return await self._read(request)
        if request.method != "POST":
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"{request.method} is not known here")
        if request.path == "/call":
            return await self._called(_document(body))
        if request.path == "/media":
            return self._media_path(_document(body))
        raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here")

    async def _read(self, request: Request) -> Reply:
        if request.path in self._page:
            kind, content = self._page[request.path]
            return Answer(HTTPStatus.OK, content, kind, (("Cache-Control", "no-cache"),))
        if self._is_media(request):
            return self._media(request)
        if request.path == "/live":
            return Stream(self._live())
        if request.path == "/metrics":
            text = await self._metrics()
            return Answer(HTTPStatus.OK, text.encode(), "text/plain; version=0.0.4; charset=utf-8", NO_STORE)
        raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here")

    # -- calls

    async def _called(self, asked: dict[str, Any]) -> Answer:
        method, params = asked.get("method"), asked.get("params", {})
        if method not in CALLS or not isinstance(params, dict):
            raise Refused(HTTPStatus.NOT_FOUND, f"the page has no call {str(method)[:80]!r}")
        if not PATHS_OF_THE_NODE.isdisjoint(params):
            raise Refused(HTTPStatus.FORBIDDEN, "a page hands over files by uploading them, not by path")
        try:
            uploads = params.pop("uploads", []) if method == "publish" else []
            if uploads:
                params["files"] = self._uploads.files(uploads)
            result = await self._call(str(method), params)
            self._uploads.published(uploads)
        except (UsageError, RemoteError) as error:
            return _json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except StoreError as error:
            return _json(HTTPStatus.INSUFFICIENT_STORAGE, {"error": str(error)})
        return _json(HTTPStatus.OK, {"result": result})

    # -- media

    def _media_path(self, asked: dict[str, Any]) -> Answer:
        media = Media(*(str(asked.get(name, "")) for name in ("root", "name", "type")))  # type: ignore[arg-type]
        if self._file_of(media.root) is None:
            raise Refused(HTTPStatus.NOT_FOUND, "this file is not here")
        return _json(HTTPStatus.OK, {"path": self._access.media_path(media, self._at_s())})

    def _media(self, request: Request) -> Reply:
        media = self._access.media(request, self._at_s())
        path = self._file_of(media.root)
        if path is None:
            raise Refused(HTTPStatus.NOT_FOUND, "this file is not here any more")
        length = path.stat().st_size
        headers = (
            ("Content-Disposition", media.disposition),
            ("Accept-Ranges", "bytes"),
            ("Cache-Control", "private, no-store"),
        )
        try:
            part = byte_range(request.header("range"), length)
        except UsageError as error:
            raise Refused(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, str(error)) from None
        if part is None:
            return FileAnswer(path, 0, length, media.shown_type, HTTPStatus.OK, headers)
        first, wanted = part
        told = ("Content-Range", f"bytes {first}-{first + wanted - 1}/{length}")
        return FileAnswer(path, first, wanted, media.shown_type, HTTPStatus.PARTIAL_CONTENT, (*headers, told))


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise Refused(HTTPStatus.BAD_REQUEST, "a JSON object was expected")
    return document


def _json(status: HTTPStatus, document: object) -> Answer:
    return Answer(status, json.dumps(document).encode(), JSON, NO_STORE)
