"""Makers of ids, hellos and neighbourhoods for the tests of discovery."""

from random import Random
from typing import TypeVar

from contentdb.names import Address, NodeId
from discovery.effects import Effect
from discovery.hello import Hello
from discovery.neighbourhood import Neighbourhood
from discovery.schedule import HelloSettings

EPOCH = "0123456789abcdef"
E = TypeVar("E", bound=Effect)


def node(number: int) -> NodeId:
    return NodeId(f"{number:040x}")


OWN, ANN, BEN = node(0xFFFF), node(0xA), node(0xB)


def hello(who: NodeId = ANN, revision: int = 1, *, next_s: float = 1.0, port: int = 4000) -> Hello:
    return Hello(who, port, EPOCH, revision, next_s)


def answer(who: NodeId = ANN, revision: int = 1) -> Hello:
    return Hello(who, 4000, EPOCH, revision, 1.0, is_answer=True)


def at(host: str, port: int = 5000) -> Address:
    return Address(f"ip:{host}:{port}")


def quiet(seed: int = 1, settings: HelloSettings | None = None) -> Neighbourhood:
    """A neighbourhood that only listens: it has no pair of its own yet."""
    return Neighbourhood(OWN, settings or HelloSettings(), Random(seed))


def started(seed: int = 1, settings: HelloSettings | None = None) -> Neighbourhood:
    hood = quiet(seed, settings)
    hood.pair_changed(EPOCH, 1, 4000, 0.0)
    return hood


def run(hood: Neighbourhood, until: float) -> list[tuple[float, Effect]]:
    """Fire the timers up to a moment; each effect with its time."""
    effects: list[tuple[float, Effect]] = []
    while hood.next_timer() <= until:
        now = hood.next_timer()
        effects += [(now, effect) for effect in hood.timer_fired(now)]
    return effects


def only(effects: list[Effect], kind: type[E]) -> list[E]:
    return [effect for effect in effects if isinstance(effect, kind)]
