"""Messages between an app and its node: JSON-RPC 2.0, one JSON document a line, in ASCII (docs/api.md).

Lines go both ways over one stream. The app sends requests; the node sends their results or errors, in any
order, and notifications. What an app sends is as hostile as what a stranger does: it is bounded before it is
parsed, and anything wrong with it gets an error and no more.
"""

import json
from enum import IntEnum
from typing import Any, NamedTuple, NoReturn, TypeAlias

from contentdb.errors import RemoteError, StoreError, UsageError

API_VERSION = 1
# An entry is at most 128 KiB signed; as JSON, with every character escaped, it stays below this.
MAX_REQUEST_BYTES = 1 << 20
# What a node answers may list many entries.
MAX_ANSWER_BYTES = 64 << 20
MAX_ERROR_CHARACTERS = 2_000
# Open files that come with one message: as many as an entry has.
MAX_PASSED = 32

RequestId: TypeAlias = int | str | None


class Code(IntEnum):
    """Of errors. Those below zero are JSON-RPC's own."""

    NOT_JSON = -32700
    NOT_A_REQUEST = -32600
    NO_SUCH_CALL = -32601
    WRONG_PARAMETERS = -32602
    NODE_FAILED = -32603  # a bug of ours; the node's log tells more
    REFUSED = 1  # the caller asked for something that cannot be; the message says what to do
    STORE = 2  # the disk or the database failed
    REMOTE = 3  # what was given comes from somebody who broke a protocol
    NOT_RUNNING = 4  # only a running node can do this
    NOT_ALLOWED = 5  # no hello yet, or no valid token
    TAKEN = 6  # another connection of the same app has this subscription


class CallError(UsageError):
    """A call was refused; one sentence says why and what to do."""

    def __init__(self, message: str, code: Code = Code.REFUSED) -> None:
        super().__init__(message)
        self.code = code


class MessageError(RemoteError):
    """A line that is no request; `id` is that of the request as far as it could be read."""

    def __init__(self, message: str, code: Code, request: RequestId = None) -> None:
        super().__init__(message)
        self.code, self.id = code, request


class Request(NamedTuple):
    """`id` None: a notification, which gets no answer."""

    # No dataclass: short commands load this module, and loading dataclasses takes longer than all the rest.

    id: RequestId
    method: str
    params: dict[str, Any]


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


_DECODE = json.JSONDecoder(parse_constant=_no_constant).decode
_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_KEYS = {"jsonrpc", "id", "method", "params"}


def decode_request(line: bytes | bytearray) -> Request:
    """Read one line of an app; MessageError for anything that is no request."""
    try:
        document = _DECODE(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise MessageError(f"expected one JSON document a line: {error}"[:200], Code.NOT_JSON) from None
    if not isinstance(document, dict):
        raise MessageError("expected a request, which is a JSON object; batches are not served",
                           Code.NOT_A_REQUEST)  # fmt: skip
    request = document.get("id")
    if type(request) not in (int, str, type(None)) or (isinstance(request, str) and len(request) > 100):
        raise MessageError("id is an integer or a string of up to 100 characters", Code.NOT_A_REQUEST)
    method, params = document.get("method"), document.get("params", {})
    if document.get("jsonrpc") != "2.0" or not isinstance(method, str) or not document.keys() <= _KEYS:
        expected = 'expected {"jsonrpc": "2.0", "id": ..., "method": ..., "params": {...}}'
        raise MessageError(expected, Code.NOT_A_REQUEST, request)
    if not isinstance(params, dict):
        raise MessageError("params is an object: parameters go by name", Code.WRONG_PARAMETERS, request)
    return Request(request, method, params)


def encode_request(request: RequestId, method: str, params: dict[str, Any]) -> bytes:
    document = {"jsonrpc": "2.0", "id": request, "method": method, "params": params}
    return _ENCODE(document).encode("ascii") + b"\n"


def encode_result(request: RequestId, result: object) -> bytes:
    return _ENCODE({"jsonrpc": "2.0", "id": request, "result": result}).encode("ascii") + b"\n"


def encode_error(request: RequestId, code: Code, message: str) -> bytes:
    error = {"code": int(code), "message": message[:MAX_ERROR_CHARACTERS]}
    return _ENCODE({"jsonrpc": "2.0", "id": request, "error": error}).encode("ascii") + b"\n"


def encode_notification(method: str, params: dict[str, Any]) -> bytes:
    return _ENCODE({"jsonrpc": "2.0", "method": method, "params": params}).encode("ascii") + b"\n"


def encode_value(value: object) -> bytes:
    """A part of several messages, written once."""
    return _ENCODE(value).encode("ascii")


def code_of(error: Exception) -> Code:
    if isinstance(error, CallError):
        return error.code
    if isinstance(error, StoreError):
        return Code.STORE
    return Code.REMOTE if isinstance(error, RemoteError) else Code.REFUSED


class Lines:
    """Cuts a stream into lines; what is not ended yet is bounded."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._begun = bytearray()

    def received(self, data: bytes | bytearray) -> list[bytes]:
        """The lines that are complete now, in order; MessageError if one is too long."""
        if self._begun:
            self._begun += data
            if b"\n" not in data:
                self._check(len(self._begun))
                return []
            data, self._begun = bytes(self._begun), bytearray()
        lines = bytes(data).split(b"\n")
        rest = lines.pop()
        for line in lines:
            self._check(len(line))
        self._check(len(rest))
        self._begun += rest
        return [line for line in lines if line.strip()]

    def _check(self, length: int) -> None:
        if length > self._max_bytes:
            raise MessageError(f"a line has at most {self._max_bytes} bytes", Code.NOT_A_REQUEST)
