"""A node's local API on a real socket, in a thread of the test, and raw apps that talk to it."""

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

from contentdb.keystore import Keystore
from contentdb.store import Store
from middleware.api.address import read_pointer
from middleware.api.home import Home
from middleware.api.listening import Listening
from middleware.api.local import wall_clock
from middleware.api.server import ApiServer
from middleware.config import Settings
from middleware.effects import Effect
from middleware.logbook import Logbook
from middleware.node import Node

# Only who waits for something that never comes waits so long.
PATIENCE_S = 30.0


class Served:
    """Everything of a node but its neighbours; `stop` ends it as a node ends, `start` begins it again."""

    def __init__(self, home: Path, *, use_tcp: bool = False) -> None:
        self.home, self._use_tcp = home, use_tcp
        self.errors: list[str] = []
        self.start()

    def start(self) -> None:
        self._ready, self._stopped = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(lambda _, context: self.errors.append(str(context)))
        keys = Keystore(self.home, os.urandom)
        with Store.open(self.home, entropy=os.urandom) as store:
            secret = keys.node()
            self.node = Node(
                store, secret, Settings(), rng=Random(1), entropy=os.urandom, logbook=Logbook(secret.node_id)
            )
            self.node.started(4747, 0.0, wall_clock())
            home = Home(
                self.home, store, keys, at=wall_clock, monotonic=time.monotonic, entropy=os.urandom,
                node=self.node, settings=Settings(),
            )  # fmt: skip
            listening = Listening(self.home, use_tcp=self._use_tcp)
            self.api = ApiServer(home, listening, tell_node=self._perform, stop=self._stopped.set)
            self._ready.set()
            await self._stopped.wait()
            self.api.close()

    def _perform(self, effects: Iterable[Effect]) -> None:
        self.api.reported(effects)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        assert self.errors == []

    def run(self, work: Any) -> Any:
        """Do something on the node's own thread, where its store may be used."""

        async def worked() -> Any:
            return work()

        return asyncio.run_coroutine_threadsafe(worked(), self._loop).result(PATIENCE_S)


class RawApp:
    """An app in no language at all: sends what it is told to, and reads lines."""

    def __init__(self, home: Path, name: str | None = "raw") -> None:
        pointer = read_pointer(str(home))
        assert pointer is not None
        if "socket" in pointer:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(str(pointer["socket"]))
        else:
            self.socket = socket.create_connection((str(pointer["host"]), int(str(pointer["port"]))))
        self.socket.settimeout(PATIENCE_S)
        self._file = self.socket.makefile("rb")
        self._next = 0
        self.notes: list[Any] = []
        if name is not None:
            self.call("hello", app=name)

    def send(self, method: str, **params: Any) -> int:
        return self.send_line({"method": method, "params": params})

    def send_line(self, request: dict[str, Any]) -> int:
        self._next += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self._next, **request})
        self.socket.sendall(line.encode() + b"\n")
        return self._next

    def line(self) -> Any:
        """The next message; None at the end of the connection."""
        try:
            line = self._file.readline()
        except ConnectionError:
            return None
        return json.loads(line) if line else None

    def message(self, number: int) -> Any:
        """The answer to a request, with what came before it kept in `notes`."""
        return self.next_where(lambda message: message.get("id") == number)

    def next_where(self, is_wanted: Callable[[Any], bool]) -> Any:
        for position, note in enumerate(self.notes):
            if is_wanted(note):
                return self.notes.pop(position)
        while True:
            message = self.line()
            assert message is not None, "the node hung up"
            if is_wanted(message):
                return message
            self.notes.append(message)

    def call(self, method: str, **params: Any) -> Any:
        message = self.message(self.send(method, **params))
        assert "error" not in message, message
        return message["result"]

    def refused(self, method: str, **params: Any) -> tuple[int, str]:
        error = self.message(self.send(method, **params))["error"]
        return error["code"], error["message"]

    def entry(self) -> Any:
        """The next entry of a subscription."""
        return self.next_where(lambda message: message.get("method") == "entry")["params"]

    def close(self) -> None:
        self._file.close()
        self.socket.close()
