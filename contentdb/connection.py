"""A connection to SQLite whose every failure is a StoreError: one sentence, with what to do about it.

Damage shows wherever a page is read, also in the middle of a result; so it is translated here, once, and not
by each of the many callers, of which one would always forget.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any, Self

from contentdb.errors import StoreBusyError, StoreError


def translated(error: sqlite3.Error, place: str) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusyError(f"another passerby is using {place}; stop it first, or choose another --home")
    if code == sqlite3.SQLITE_FULL:
        return StoreError(f"the disk of {place} is full; nothing was lost: make room and try again")
    # Bytes in place of text raise before SQLite has a code for it.
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "decode to UTF-8" in str(error):
        return StoreError(
            f"the database in {place} is damaged ({error}); nothing was deleted: docs/recovery.md tells "
            "how to save what is readable, or start anew with another --home"
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN):
        return StoreError(f"cannot write the database in {place} ({error}); check who owns it")
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(f"the disk of {place} failed ({error}); check it, then start again")
    return StoreError(f"the database in {place} refused: {error}")


class Cursor(sqlite3.Cursor):
    connection: "Connection"

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        try:
            return super().execute(sql, parameters)
        except sqlite3.Error as error:
            raise translated(error, self.connection.place) from error

    def executemany(self, sql: str, rows: Any, /) -> Self:
        try:
            return super().executemany(sql, rows)
        except sqlite3.Error as error:
            raise translated(error, self.connection.place) from error

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except sqlite3.Error as error:
            raise translated(error, self.connection.place) from error

    def fetchmany(self, size: int | None = 1) -> list[Any]:
        try:
            return super().fetchmany(size)
        except sqlite3.Error as error:
            raise translated(error, self.connection.place) from error

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except sqlite3.Error as error:
            raise translated(error, self.connection.place) from error

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        try:
            # An own __next__ would cost a Python call for each row.
            yield from iter(super().fetchone, None)
        except sqlite3.Error as error:
            raise translated(error, self.connection.place) from error


class Connection(sqlite3.Connection):
    place = "memory"  # for the sentences: the folder that the database is in

    # sqlite3's own shortcuts make plain cursors, whatever `cursor` is overridden to return.
    # Nor do these call those of `Cursor`, for one call less in each of a session's hundred statements.
    def execute(self, sql: str, parameters: Any = (), /) -> Cursor:
        cursor = self.cursor(Cursor)
        try:
            sqlite3.Cursor.execute(cursor, sql, parameters)
        except sqlite3.Error as error:
            raise translated(error, self.place) from error
        return cursor

    def executemany(self, sql: str, rows: Any, /) -> Cursor:
        return self.cursor(Cursor).executemany(sql, rows)

    def executescript(self, script: str, /) -> sqlite3.Cursor:
        try:
            return super().executescript(script)
        except sqlite3.Error as error:
            raise translated(error, self.place) from error
