"""What the neighbourhood asks of its shell, and what it reports."""

from dataclasses import dataclass

from contentdb.names import Address
from discovery.hello import Hello
from discovery.sightings import Neighbour


@dataclass(frozen=True, slots=True)
class SendHello:
    """Say this to everybody in range."""

    hello: Hello


@dataclass(frozen=True, slots=True)
class AnswerHello:
    """Say this to one address, from which a hello came."""

    hello: Hello
    to: Address


@dataclass(frozen=True, slots=True)
class NeighbourFound:
    neighbour: Neighbour


@dataclass(frozen=True, slots=True)
class NeighbourChanged:
    """It says another pair, or can be dialled at a new address."""

    neighbour: Neighbour


@dataclass(frozen=True, slots=True)
class NeighbourLost:
    """The contact is over; it lasted from the first to the last sign of the neighbour."""

    neighbour: Neighbour
    seconds: float


Effect = SendHello | AnswerHello | NeighbourFound | NeighbourChanged | NeighbourLost
