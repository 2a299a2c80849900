"""Calls about subscriptions. Delivering to an app that is connected is `api.apps`."""

from contentdb.errors import UsageError
from contentdb.names import FeedId, parse_feed_id
from contentdb.subscriptions import Subscription
from middleware.api.documents import Document, feeds_named, find_feed, subscription_document
from middleware.api.home import Home


def subscribe(
    home: Home,
    app: str,
    *,
    feed: str,
    where: str = "",
    files: str = "all",
    max_age: int | None = None,
    max_count: int | None = None,
    deliver: bool = True,
    partial: bool = False,
) -> Document:
    """The same app, feed and selector again only renews the options. `deliver` and `partial` are for apps."""
    wanted = Subscription(
        0, app, _feed_id(home, feed), where, max_age, max_count, files, created_at=home.at()
    )
    subscription = home.store.subscriptions.add(wanted)
    home.subscribed(subscription)
    return subscription_document(subscription)


def unsubscribe(home: Home, app: str, *, id: int | None = None, feed: str | None = None) -> list[Document]:
    """One by its id, whosever it is; or all that this app has for a feed."""
    if (id is None) == (feed is None):
        raise UsageError("say which: either the id of a subscription, or a feed")
    subscriptions = home.store.subscriptions
    if id is not None:
        gone = [subscriptions.get(id)]
    else:
        gone = [s for s in subscriptions.of_feed(_feed_id(home, str(feed))) if s.app == app]
    if not gone:
        raise UsageError(f"app {app} is not subscribed to {feed}; `passerby subscriptions` lists what is")
    for subscription in gone:
        subscriptions.remove(subscription.key)
    home.unsubscribed()
    return [subscription_document(subscription) for subscription in gone]


def subscriptions(home: Home, app: str, *, of: str | None = None) -> list[Document]:
    """All of them, or those of one app."""
    found = home.store.subscriptions.all()
    return [subscription_document(s) for s in found if of is None or s.app == of]


def _feed_id(home: Home, text: str) -> FeedId:
    """One may subscribe to a feed that nobody near has yet: then its id is all there is."""
    if ":" in text and not feeds_named(home.store, text):
        return parse_feed_id(text)
    return find_feed(home.store, text).id
