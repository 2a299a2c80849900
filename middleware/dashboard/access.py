"""Who may see the dashboard: tokens, the names it is reached by, and short-lived paths for media.

The page itself is public to this machine and holds no secret. Its token comes in the fragment of the
address, which no browser sends anywhere; the page keeps it for the tab and sends it as a header. Media
elements cannot send headers, so they get paths that carry their own proof and soon expire.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote, urlencode

from contentdb.names import Root
from middleware.dashboard.web import Refused, Request

# A long film may be watched by parts; a page that is still open asks for a new path.
MEDIA_S = 3600
# What browsers show in place without ever taking it for a document; SVG, for one, can hold script.
IN_PLACE = frozenset(
    {
        "audio/aac", "audio/flac", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/opus", "audio/wav",
        "audio/webm", "audio/x-wav", "image/avif", "image/gif", "image/jpeg", "image/png", "image/webp",
        "video/mp4", "video/ogg", "video/webm",
    }
)  # fmt: skip
DOWNLOAD_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Media:
    root: Root
    name: str
    type: str

    @property
    def shown_type(self) -> str:
        return self.type if self.type in IN_PLACE else DOWNLOAD_TYPE

    @property
    def disposition(self) -> str:
        kind = "inline" if self.type in IN_PLACE else "attachment"
        return f"{kind}; filename*=UTF-8''{quote(self.name, safe='')}"


class Access:
    """Decides; all it knows is one secret and the names under which the server may be addressed."""

    def __init__(self, secret: bytes, port: int) -> None:
        self._secret = secret
        self.page_token = self._derived(b"page")
        self.metrics_token = self._derived(b"metrics")
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})

    def _derived(self, purpose: bytes) -> str:
        digest = hmac.digest(self._secret, b"passerby dashboard " + purpose, hashlib.sha256)
        return urlsafe_b64encode(digest[:24]).decode()

    def check_origin(self, request: Request) -> None:
        """Refuse what another web page sends us, also one whose name was made to point here."""
        if request.header("host") not in self._hosts:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "this is not an address of this dashboard")
        origin = request.header("origin")
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "other pages may not use this dashboard")
        if request.header("sec-fetch-site") not in (None, "same-origin", "none"):
            raise Refused(HTTPStatus.FORBIDDEN, "other pages may not use this dashboard")

    def check_page(self, request: Request) -> None:
        self._check_token(request, self.page_token, "open the address that `passerby status` shows")

    def check_metrics(self, request: Request) -> None:
        self._check_token(request, self.metrics_token, "send the token that `passerby status --json` shows")

    def _check_token(self, request: Request, token: str, advice: str) -> None:
        given = (request.header("authorization") or "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode()):
            raise Refused(HTTPStatus.UNAUTHORIZED, f"the token is missing or wrong; {advice}")

    # -- media

    def media_path(self, media: Media, at_s: int) -> str:
        until = str(at_s + MEDIA_S)
        named = urlencode({"name": media.name, "type": media.type, "until": until})
        return f"/media/{media.root}?{named}&proof={self._proof(media, until)}"

    def media(self, request: Request, at_s: int) -> Media:
        """What a path stands for that we gave out ourselves, not long ago."""
        given = request.query
        root = Root(request.path.removeprefix("/media/"))
        media = Media(root, given.get("name", ""), given.get("type", ""))
        until, proof = given.get("until", ""), given.get("proof", "")
        if not hmac.compare_digest(proof.encode("utf-8", "replace"), self._proof(media, until).encode()):
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here")
        if int(until) < at_s:
            raise Refused(HTTPStatus.GONE, "this path has expired; load the page again")
        return media

    def _proof(self, media: Media, until: str) -> str:
        # Each part with its length: no two different media give the same text.
        parts = (str(part) for part in (media.root, media.name, media.type, until))
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return self._derived(b"media " + text.encode("utf-8", "surrogatepass"))
