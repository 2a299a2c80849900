"""Two gateways mirror the same feed, and one person reads it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contentdb.arrivals import verify_and_read
from contentdb.intake import Delivery as Brought
from contentdb.names import FeedId
from contentdb.query import Selection
from contentdb.subscriptions import Subscription
from middleware.delivery import Delivery, Due
from tests.contentdb.makers import memory_store, node
from tests.middleware.gateway.test_visits import Gateway, atom, podcast, post
from tests.middleware.gateway.webserver import Web, web_server


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as server:
        yield server


class Reader:
    """A store that meets gateways, and an app that takes what it is given."""

    def __init__(self, feed: str) -> None:
        self.store = memory_store()
        self.subscription = self.store.subscriptions.add(Subscription(0, "app", FeedId(feed), files="none"))
        self._delivery = Delivery(self.store)
        self.got: list[str] = []

    def meet(self, gateway: Gateway, *, is_app_there: bool = True) -> None:
        keys = gateway.store.entries.keys(self.subscription.feed, gateway.at)
        signed = [signed for _key, signed in gateway.store.entries.signed(keys)]
        brought = Brought(gateway.at, source=node(1))
        outcomes = self.store.take_in(verify_and_read(signed), brought)
        if is_app_there:
            stored = self._delivery.stored(outcome.key for outcome in outcomes if outcome.fate.is_gain)
            self._deliver(self._delivery.due(stored, gateway.at))

    def app_returns(self, at: int) -> None:
        self._deliver(list(self._delivery.due_now(self.subscription, at)))

    def _deliver(self, due: list[Due]) -> None:
        for each in due:
            self.got.append(each.entry.title)
            self.store.subscriptions.mark_delivered(
                each.subscription.key, [(each.entry.key, each.entry.version)]
            )

    def listed(self, at: int) -> list[str]:
        return sorted(row.title for row in self.store.entries.select(Selection(at)))


@pytest.mark.parametrize("is_app_there", [True, False])
def test_a_reader_of_two_gateways_gets_each_entry_once(web: Web, tmp_path: Path, is_app_there: bool) -> None:
    web.serve("/feed", atom(post(1), post(2)))
    one, two = Gateway(tmp_path / "1", 1), Gateway(tmp_path / "2", 2)
    reader = Reader(web.url("/feed"))
    with one.store, two.store, reader.store:
        one.visit(web.url("/feed"))
        web.serve("/feed", atom(post(1), post(2, words="Corrected"), post(3)))
        two.visit(web.url("/feed"))
        assert one.entries()[0].feed == two.entries()[0].feed
        for gateway in (one, two, one):
            reader.meet(gateway, is_app_there=is_app_there)
        reader.app_returns(two.at)
        reader.app_returns(two.at)
        assert sorted(reader.got) == ["Post 1", "Post 2", "Post 3"]
        assert reader.listed(two.at) == ["Post 1", "Post 2", "Post 3"]


def test_ids_that_are_made_up_are_the_same_at_every_gateway(web: Web, tmp_path: Path) -> None:
    """Of RSS without a link or an id that the whole world knows."""
    body = podcast((1, "https://talks.example/1.mp3", 9)).replace(b"<link>https://talks.example/</link>", b"")
    web.serve("/feed", body)
    one, two = Gateway(tmp_path / "1", 1), Gateway(tmp_path / "2", 2)
    reader = Reader(web.url("/feed"))
    with one.store, two.store, reader.store:
        one.visit(web.url("/feed"), files=False)
        web.serve("/feed", body.replace(b"Talks", b"More talks"))
        two.visit(web.url("/feed"), files=False)
        reader.meet(two)
        reader.meet(one)
        assert reader.got == reader.listed(one.at) == ["Talk 1"]
