"""Tokens for apps that come over TCP: one for each, kept in the home, where its owner alone can read them."""

import hmac
import os
from collections.abc import Callable
from pathlib import Path

from contentdb.errors import StoreError, UsageError
from contentdb.subscriptions import check_app
from middleware.api.address import TOKENS, read_token

TOKEN_BYTES = 32
# Each is a file; nobody runs more apps.
MAX_TOKENS = 1_000


class Tokens:
    def __init__(self, home: Path, entropy: Callable[[int], bytes]) -> None:
        self._home, self._folder, self._entropy = home, home / TOKENS, entropy

    def is_valid(self, app: str, token: str) -> bool:
        """Read anew each time: a token that was revoked a moment ago opens nothing."""
        kept = read_token(str(self._home), app)
        return bool(kept) and hmac.compare_digest(kept.encode(), token.encode())

    def make(self, app: str) -> str:
        """The token of an app, a new one if it has none."""
        check_app(app)
        kept = read_token(str(self._home), app)
        if kept:
            return kept
        if len(self.apps()) >= MAX_TOKENS:
            raise UsageError(f"{MAX_TOKENS} apps have tokens, which is the most allowed; revoke one first")
        token = self._entropy(TOKEN_BYTES).hex()
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(self._folder / app, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w", encoding="ascii") as file:
                file.write(token)
        except OSError as error:
            raise StoreError(f"cannot keep a token in {self._folder}: {error.strerror}") from error
        return token

    def revoke(self, app: str) -> None:
        check_app(app)
        try:
            (self._folder / app).unlink()
        except FileNotFoundError:
            raise UsageError(f"{app} has no token") from None

    def apps(self) -> list[str]:
        """The apps that have one."""
        return sorted(path.name for path in self._folder.iterdir()) if self._folder.is_dir() else []
