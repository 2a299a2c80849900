"""The socket that apps connect to: only its owner may, and only while the node runs."""

import os
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

from contentdb.errors import StoreError
from middleware.api.address import SOCKET, remove_pointer, socket_path, write_pointer

BACKLOG = 64


class Listening:
    """Made by the one node of a home, which SQLite's lock has let in: a socket that is there is stale."""

    def __init__(self, home: Path, *, use_tcp: bool, port: int = 0) -> None:
        self._home = str(home)
        self._folder: str | None = None  # a private one, where the home's path is too long
        self._path: str | None = None
        self.needs_token = use_tcp or not hasattr(socket, "AF_UNIX")
        try:
            self.socket = self._tcp(port) if self.needs_token else self._unix()
            self.socket.setblocking(False)
            write_pointer(self._home, self.pointer)
        except OSError as error:
            self.close()
            raise StoreError(f"cannot open the local socket of {home}: {error.strerror or error}") from error

    def _unix(self) -> socket.socket:
        self._path = socket_path(self._home)
        if self._path is None:
            runtime = os.environ.get("XDG_RUNTIME_DIR")
            place = runtime if runtime and os.path.isdir(runtime) else None
            self._folder = tempfile.mkdtemp(prefix="passerby-", dir=place)  # mode 0700
            self._path = os.path.join(self._folder, SOCKET)
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Between bind and chmod, the umask decides who may connect; nobody else can enter the home anyway.
        before = os.umask(0o177)
        try:
            sock.bind(self._path)
        finally:
            os.umask(before)
        os.chmod(self._path, 0o600)
        sock.listen(BACKLOG)
        return sock

    def _tcp(self, port: int) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", port))
        sock.listen(BACKLOG)
        return sock

    @property
    def pointer(self) -> dict[str, object]:
        if self._path is not None:
            return {"socket": self._path}
        host, port = self.socket.getsockname()
        return {"host": host, "port": port}

    def close(self) -> None:
        remove_pointer(self._home)
        if hasattr(self, "socket"):
            self.socket.close()
        if self._path is not None:
            with suppress(OSError):
                os.unlink(self._path)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
