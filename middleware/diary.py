"""Whom this node met in the last day, for people to look at. The logbook is the lasting record."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from contentdb.errors import UsageError
from contentdb.names import NodeId
from middleware.logbook import ContactBegan, ContactEnded, NodeStopped, decode_line

DAY_MS = 86_400_000
# A day among passers-by; who meets more sees the newest.
MAX_CONTACTS = 2_000


@dataclass(slots=True)
class Contact:
    """Times in Unix milliseconds; `ended` is None while the neighbour is here."""

    peer: NodeId
    began: int
    ended: int | None = None


class Diary:
    def __init__(self) -> None:
        self._contacts: deque[Contact] = deque(maxlen=MAX_CONTACTS)
        self._open: dict[NodeId, Contact] = {}

    def began(self, peer: NodeId, at: int) -> None:
        contact = self._open[peer] = Contact(peer, at)
        self._contacts.append(contact)

    def ended(self, peer: NodeId, at: int) -> None:
        contact = self._open.pop(peer, None)
        if contact is not None:
            contact.ended = at

    @classmethod
    def recalled(cls, lines: Iterable[str], before_seq: int) -> Self:
        """What earlier runs of this node noted in its logbook, oldest first."""
        earlier = cls()
        last_at = 0
        for text in lines:
            try:
                line = decode_line(text)
            except UsageError:
                continue  # cut short by a kill
            if line.seq >= before_seq:
                break
            last_at = line.at
            match line.fact:
                case ContactBegan(peer):
                    earlier.began(NodeId(peer), line.at)
                case ContactEnded(peer):
                    earlier.ended(NodeId(peer), line.at)
                case NodeStopped():
                    earlier.all_ended(line.at)
        earlier.all_ended(last_at)  # by a kill: nobody noted when
        return earlier

    def precede(self, earlier: "Diary") -> None:
        """Put the contacts of earlier runs before those of this one."""
        self._contacts = deque([*earlier._contacts, *self._contacts], maxlen=MAX_CONTACTS)

    def all_ended(self, at: int) -> None:
        for peer in list(self._open):
            self.ended(peer, at)

    def since(self, at: int) -> list[Contact]:
        """The contacts that were going on after this moment, those that began last first."""
        return [
            contact for contact in reversed(self._contacts) if contact.ended is None or contact.ended >= at
        ]
