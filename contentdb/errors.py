"""The exceptions that cross package borders; everything else that escapes is a bug."""


class RemoteError(Exception):
    """The peer broke the protocol: drop the message or the session, never the node."""


class UsageError(ValueError):
    """Our caller broke the API; the message says what was expected and what to do."""


class StoreError(Exception):
    """The disk or the database failed; the message says what to do, and nothing was destroyed."""


class StoreBusyError(StoreError):
    """Another process owns the store just now; who can wait tries again."""
