"""Nodes meet in a simulated world, with the product's own cores."""

from evaluation.simulator.contacts import Contact, changes
from evaluation.simulator.radio import Air, Link
from evaluation.simulator.world import World
from middleware.logbook import EntryDelivered, EntryPublished


def test_an_entry_reaches_a_node_its_author_never_met() -> None:
    world = World(seed=7)
    alice, bob, carol = world.add_nodes("alice", "bob", "carol")
    quiz = alice.create_feed("quiz")
    entry = alice.publish(quiz.id, title="Capital of Peru?")
    bob.subscribe(quiz.id)
    carol.subscribe(quiz.id)
    world.meet(alice, bob, for_s=20)
    assert entry.id in bob.delivered(quiz.id)
    world.meet(bob, carol, for_s=20)
    assert carol.delivered(quiz.id) == [entry.id]


def test_nothing_new_opens_no_connection_not_even_right_after_an_exchange() -> None:
    world = World(seed=1)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("news")
    bob.subscribe(feed.id)
    alice.subscribe(feed.id)
    alice.publish(feed.id, "first")
    world.connect(alice, bob)
    world.run(20)
    opened = world.streams_opened
    world.run(300)
    assert bob.delivered(feed.id) != [] and world.streams_opened == opened <= 2


def test_news_in_a_contact_come_at_once_and_only_once() -> None:
    world = World(seed=2)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("news")
    bob.subscribe(feed.id)
    world.connect(alice, bob)
    world.run(10)
    ids = []
    for number in range(5):
        ids.append(alice.publish(feed.id, f"news {number}").id)
        world.run(3)
    assert bob.delivered(feed.id) == ids


def test_a_file_comes_whole_and_is_delivered_with_its_entry() -> None:
    world = World(seed=3, rate_bytes_s=200_000)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("songs")
    bob.subscribe(feed.id)
    song = world.rng.randbytes(1_000_000)
    entry = alice.publish(feed.id, "song", song)
    world.connect(alice, bob)
    world.run(1.2)
    assert bob.delivered(feed.id) == []
    world.run(20)
    assert bob.delivered(feed.id) == [entry.id] and bob.has_file(entry.enclosures[0].root)


def test_a_download_that_was_cut_goes_on_with_somebody_else() -> None:
    world = World(seed=4, rate_bytes_s=250_000)
    alice, bob, carol = world.add_nodes("alice", "bob", "carol")
    feed = alice.create_feed("songs")
    for node in (bob, carol):
        node.subscribe(feed.id)
    entry = alice.publish(feed.id, "song", world.rng.randbytes(1_000_000))
    root = entry.enclosures[0].root
    world.meet(alice, carol, for_s=30)
    world.meet(alice, bob, for_s=3)
    part = bob.store.blobs.received(root)
    assert 0 < part < 1_000_000 and carol.has_file(root)
    world.meet(bob, carol, for_s=30)
    assert bob.has_file(root) and bob.delivered(feed.id) == [entry.id]


def test_a_file_is_given_up_when_its_entry_is_retracted_on_the_way() -> None:
    world = World(seed=11, rate_bytes_s=100_000)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("songs")
    bob.subscribe(feed.id)
    entry = alice.publish(feed.id, "song", world.rng.randbytes(1_000_000))
    world.meet(alice, bob, for_s=4)
    assert bob.store.blobs.received(entry.enclosures[0].root) > 0
    alice.retract(entry)
    news = alice.publish(feed.id, "news", b"short")
    world.meet(alice, bob, for_s=60)
    assert bob.delivered(feed.id) == [news.id] and bob.store.blobs.roots() == [news.enclosures[0].root]


def test_a_file_that_its_reader_publishes_itself_is_waited_for_no_longer() -> None:
    world = World(seed=12, rate_bytes_s=100_000)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("songs")
    bob.subscribe(feed.id)
    song = world.rng.randbytes(1_000_000)
    entry = alice.publish(feed.id, "song", song)
    world.meet(alice, bob, for_s=4)
    assert bob.delivered(feed.id) == []
    own = bob.publish(feed.id, "the same song", song)
    assert sorted(bob.delivered(feed.id)) == sorted([entry.id, own.id])


def test_a_selector_keeps_away_what_it_does_not_match() -> None:
    world = World(seed=5)
    alice, bob = world.add_nodes("alice", "bob")
    feed = alice.create_feed("songs")
    bob.subscribe(feed.id, "genre = 'jazz'")
    jazz = alice.publish(feed.id, "one", genre="jazz")
    alice.publish(feed.id, "two", genre="folk")
    world.meet(alice, bob, for_s=20)
    assert bob.delivered(feed.id) == [jazz.id]
    assert len(bob.store.entries.keys(feed.id, world.at)) == 1


def test_large_libraries_are_told_apart_by_their_difference() -> None:
    world = World(seed=6)
    alice, bob, carol = world.add_nodes("alice", "bob", "carol")
    feed = alice.create_feed("news")
    for node in (bob, carol):
        node.subscribe(feed.id)
    for number in range(400):
        alice.publish(feed.id, f"news {number}")
    world.meet(alice, bob, for_s=30)
    world.meet(alice, carol, for_s=30)
    late = [alice.publish(feed.id, f"late {number}").id for number in range(5)]
    world.meet(alice, bob, for_s=20)
    world.meet(bob, carol, for_s=20)
    assert carol.delivered(feed.id)[-5:] == late and len(carol.delivered(feed.id)) == 405


def test_the_same_seed_gives_the_same_history() -> None:
    def history(seed: int) -> list[str]:
        world = World(seed)
        nodes = world.add_nodes("alice", "bob", "carol")
        feed = nodes[0].create_feed("news")
        for node in nodes[1:]:
            node.subscribe(feed.id)
        nodes[0].publish(feed.id, "song", world.rng.randbytes(100_000))
        for one, two in ((0, 1), (1, 2), (0, 2)):
            world.meet(nodes[one], nodes[two], for_s=5)
        return [line for node in nodes for line in node.core.logbook.take_lines()]

    assert history(9) == history(9) != history(10)


def test_a_node_notes_what_it_publishes_and_what_its_apps_are_given() -> None:
    world = World(seed=13)
    alice, bob = world.add_nodes("alice", "bob")
    world.run(2)
    feed = alice.create_feed("news")
    bob.subscribe(feed.id, app="reader")
    world.connect(alice, bob)
    entry = alice.publish(feed.id, "news")
    world.run(10)
    (said,) = [line.fact for line in alice.core.logbook.take() if isinstance(line.fact, EntryPublished)]
    (given,) = [line.fact for line in bob.core.logbook.take() if isinstance(line.fact, EntryDelivered)]
    assert said.entry == given.entry == entry.id and said.version == given.version
    assert given.app == "reader"


def test_nodes_meet_and_part_as_a_trace_says() -> None:
    world = World(seed=14)
    alice, bob, carol = world.add_nodes("alice", "bob", "carol")
    contacts = [Contact(5, 25, "alice", "bob"), Contact(40, 60, "bob", "carol")]
    world.follow(changes(contacts, 100))
    feed = alice.create_feed("news")
    bob.subscribe(feed.id)
    carol.subscribe(feed.id)
    entry = alice.publish(feed.id, "news")
    world.run(4.9)
    assert world.streams_opened == 0
    world.run(30)
    assert bob.delivered(feed.id) == [entry.id] and carol.delivered(feed.id) == []
    world.run(30)
    assert carol.delivered(feed.id) == [entry.id] and world.contacts == 2


def seconds_for_two_files(air: Air | None) -> float:
    """Two pairs in range of each other exchange 1 MB each at 100 kB/s."""
    world = World(seed=15, rate_bytes_s=100_000, air=air)
    nodes = world.add_nodes("a", "b", "c", "d")
    for number, one in enumerate(nodes):
        for two in nodes[number + 1 :]:
            world.connect(one, two)
    roots = []
    for giver, taker in (nodes[:2], nodes[2:]):
        feed = giver.create_feed(f"songs of {giver.name}")
        taker.subscribe(feed.id)
        entry = giver.publish(feed.id, "song", world.rng.randbytes(1_000_000))
        roots.append((taker, entry.enclosures[0].root))
    while not all(taker.has_file(root) for taker, root in roots):
        world.run(0.25)
    return world.now


def test_who_shares_the_air_waits_for_others() -> None:
    assert 10 < seconds_for_two_files(None) < 13
    assert 20 < seconds_for_two_files(Air()) < 24


def test_who_subscribes_during_a_long_download_waits_for_no_other_session() -> None:
    world = World(seed=31)
    alice, bob = world.add_nodes("alice", "bob")
    films, news = alice.create_feed("films").id, alice.create_feed("news").id
    film = alice.publish(films, "long", world.rng.randbytes(4_000_000))
    headline = alice.publish(news, "short")
    bob.subscribe(films)
    world.connect(alice, bob, Link(100_000, 0.01))
    world.run(15)
    opened = world.streams_opened
    bob.subscribe(news)
    world.run(12)  # behind what was asked for before
    assert bob.delivered(news) == [headline.id] and not bob.has_file(film.enclosures[0].root)
    world.run(60)
    assert bob.delivered(films) == [film.id]
    assert world.streams_opened == opened  # one session brought both, and said so
    later = alice.publish(news, "later")
    world.run(5)
    assert bob.delivered(news) == [headline.id, later.id]


def test_who_subscribes_as_a_session_ends_asks_again() -> None:
    """At whatever moment: what a session did not ask for must not count as seen."""
    for moment in range(40):
        world = World(seed=32)
        alice, bob = world.add_nodes("alice", "bob")
        songs, news = alice.create_feed("songs").id, alice.create_feed("news").id
        alice.publish(songs, "song", world.rng.randbytes(20_000))
        headline = alice.publish(news, "short")
        bob.subscribe(songs)
        world.connect(alice, bob, Link(1_000_000, 0.01))
        while not world.streams_opened:
            world.run(0.005)
        world.run(moment * 0.005)
        bob.subscribe(news)
        world.run(10)
        assert bob.delivered(news) == [headline.id]
