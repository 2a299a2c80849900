"""Strangers may forge what they like: what they make us keep is bounded, and real neighbours are found."""

from random import Random

from discovery.effects import Effect, NeighbourChanged, NeighbourFound, NeighbourLost
from discovery.neighbourhood import MAX_IDS_PER_HOST, MAX_NEIGHBOURS, Neighbourhood
from discovery.sightings import MAX_ADDRESSES
from tests.discovery.scenes import ANN, at, hello, node, only, quiet, run


def flood(
    hood: Neighbourhood, seconds: int, per_s: int, hosts: int, start: float = 0.0, real: bool = True
) -> list[Effect]:
    """Invented ids, each once, from so many hosts; Ann says hello once a second among them."""
    rng, effects = Random(5), list[Effect]()
    for step in range(seconds * per_s):
        now = start + step / per_s
        effects += [effect for _, effect in run(hood, now)]
        invented = node(0x1000 + rng.getrandbits(140))
        source = at(f"10.0.{rng.randrange(hosts)}.9", rng.randrange(1, 65536))
        effects += hood.hello_received(hello(invented, next_s=3600.0), source, now)
        if real and step % per_s == per_s // 2:
            effects += hood.hello_received(hello(), at("192.0.2.7"), now)
    return effects


def found_of(effects: list[Effect]) -> set[str]:
    return {effect.neighbour.node for effect in only(effects, NeighbourFound)}


def test_one_host_that_invents_thousands_of_ids_stays_within_its_bounds() -> None:
    hood = quiet()
    effects = flood(hood, seconds=5, per_s=4000, hosts=1)
    assert ANN in found_of(effects)
    assert len(hood.neighbours()) <= MAX_IDS_PER_HOST + 1


def test_thousands_of_ids_from_hundreds_of_hosts_do_not_hide_a_real_neighbour() -> None:
    hood = quiet()
    effects = flood(hood, seconds=10, per_s=4000, hosts=250)
    assert ANN in found_of(effects)
    assert len(only(effects, NeighbourFound)) <= 64 * 11
    assert len(hood.neighbours()) <= MAX_NEIGHBOURS


def test_a_new_host_for_every_id_does_not_hide_one_either() -> None:
    hood = quiet()
    effects = flood(hood, seconds=20, per_s=4000, hosts=60_000)
    assert ANN in found_of(effects)
    assert ANN in {neighbour.node for neighbour in hood.neighbours()}
    assert len(hood.neighbours()) <= MAX_NEIGHBOURS


def test_a_flood_never_displaces_whom_a_handshake_proved() -> None:
    hood = quiet()
    hood.hello_received(hello(next_s=3600.0), at("192.0.2.7"), 0.0)
    hood.proved(ANN, 0.1, address=at("192.0.2.7", 4000))
    effects = flood(hood, seconds=60, per_s=500, hosts=60_000, start=1.0, real=False)
    assert ANN not in {effect.neighbour.node for effect in only(effects, NeighbourLost)}
    assert len(hood.neighbours()) == MAX_NEIGHBOURS


def test_ids_invented_at_the_address_of_a_real_neighbour_do_not_hide_it() -> None:
    hood, effects = quiet(), list[Effect]()
    for step in range(20_000):
        now = step / 1000
        effects += [effect for _, effect in run(hood, now)]
        who = ANN if step % 1000 == 500 else node(0x1000 + step)
        effects += hood.hello_received(hello(who, next_s=1.0 if who == ANN else 3600.0), at("a"), now)
    assert ANN in found_of(effects)


def test_a_table_full_of_proved_neighbours_takes_nobody() -> None:
    hood = quiet()
    for number in range(1, MAX_NEIGHBOURS + 1):
        now, source = float(number), at(f"10.{number // 250}.{number % 250}.1")
        hood.hello_received(hello(node(number), next_s=3600.0), source, now)
        hood.proved(node(number), now)
    assert hood.hello_received(hello(node(5000)), at("b"), 2000.0) == []


def test_contradicting_hosts_that_stay_as_they_are_make_one_change() -> None:
    hood, changes = quiet(), 0
    for now in range(100):
        run(hood, now)
        for revision, host in ((1, "a"), (99, "b")):
            effects = hood.hello_received(hello(revision=revision), at(host), now + revision / 1000)
            changes += len(only(effects, NeighbourChanged))
    assert changes == 1


def test_a_forger_with_ever_new_revisions_is_limited_to_one_change_a_second() -> None:
    hood, effects = quiet(), list[Effect]()
    for step in range(10_000):
        now = step / 100
        effects += [effect for _, effect in run(hood, now)]
        effects += hood.hello_received(hello(revision=step), at("forger"), now)
    assert len(only(effects, NeighbourChanged)) <= 100 + 10


def test_the_last_of_many_changes_is_always_told() -> None:
    hood, effects = quiet(), list[Effect]()
    for step in range(50):
        effects += hood.hello_received(hello(revision=step, next_s=60.0), at("a"), step / 100)
    effects += [effect for _, effect in run(hood, 10.0)]
    assert only(effects, NeighbourChanged)[-1].neighbour.revision == 49


def test_the_host_that_was_proved_is_believed_before_others() -> None:
    hood, effects = quiet(), list[Effect]()
    hood.hello_received(hello(revision=1), at("a"), 0.0)
    hood.proved(ANN, 0.1, address=at("a", 60_000))
    for step in range(1, 60):
        effects += [effect for _, effect in run(hood, step)]
        effects += hood.hello_received(hello(revision=1), at("a"), float(step))
        effects += hood.hello_received(hello(revision=1000 + step), at("forger"), step + 0.5)
    strays = [effect for effect in only(effects, NeighbourChanged) if effect.neighbour.revision != 1]
    assert len(strays) <= 4
    (ann,) = hood.neighbours()
    assert ann.is_proved and ann.addresses[0] == at("a", 4000)
    hood.proved(ANN, 60.0, address=at("a", 4000))
    (ann,) = hood.neighbours()
    assert ann.revision == 1


def test_real_news_are_told_though_a_forger_repeats_the_old_pair() -> None:
    hood = quiet()
    hood.hello_received(hello(revision=1), at("forger"), 0.0)
    (changed,) = only(hood.hello_received(hello(revision=2), at("a"), 1.0), NeighbourChanged)
    assert changed.neighbour.revision == 2 and changed.neighbour.addresses[0] == at("a", 4000)


def test_a_node_that_moved_is_believed_though_somebody_speaks_from_its_old_address() -> None:
    hood, effects = quiet(), list[Effect]()
    hood.hello_received(hello(revision=1), at("old"), 0.0)
    hood.proved(ANN, 0.1, address=at("old", 4000))
    for step in range(1, 5):
        effects += hood.hello_received(hello(revision=1), at("old"), float(step))
        effects += hood.hello_received(hello(revision=2), at("new"), step + 0.5)
    assert 2 in [effect.neighbour.revision for effect in only(effects, NeighbourChanged)]


def test_a_disproved_address_is_not_believed_for_a_minute() -> None:
    hood = quiet()
    hood.hello_received(hello(), at("forger"), 0.0)
    (lost,) = hood.disproved(ANN, at("forger", 4000), 1.0)
    assert isinstance(lost, NeighbourLost)
    assert hood.hello_received(hello(), at("forger"), 2.0) == []
    assert only(hood.hello_received(hello(), at("a"), 3.0), NeighbourFound)
    run(hood, 61.0)
    assert only(hood.hello_received(hello(), at("forger"), 61.5), NeighbourFound)


def test_disproving_a_forger_leaves_the_real_one_and_its_pair() -> None:
    hood = quiet()
    hood.hello_received(hello(revision=5), at("a"), 0.0)
    hood.hello_received(hello(revision=99), at("forger"), 0.5)
    (changed,) = only(hood.disproved(ANN, at("forger", 4000), 1.0), NeighbourChanged)
    assert (changed.neighbour.revision, changed.neighbour.addresses) == (5, (at("a", 4000),))


def test_proof_ends_when_the_place_where_it_was_given_falls_silent() -> None:
    hood = quiet()
    hood.hello_received(hello(), at("a"), 0.0)
    hood.proved(ANN, 0.0)
    for step in range(1, 6):
        run(hood, step)
        hood.hello_received(hello(), at("forger"), float(step))
    (ann,) = hood.neighbours()
    assert not ann.is_proved


def test_a_proof_at_a_host_where_it_was_never_sighted_proves_nothing_here() -> None:
    hood = quiet()
    hood.hello_received(hello(), at("forger"), 0.0)
    hood.proved(ANN, 1.0, address=at("a", 4000))
    (ann,) = hood.neighbours()
    assert not ann.is_proved
    assert hood.proved(node(12345), 1.0) == []


def test_a_real_id_claimed_at_thousands_of_places_has_few_addresses_and_keeps_the_proved_one() -> None:
    hood = quiet()
    hood.hello_received(hello(next_s=3600.0), at("a"), 0.0)
    hood.proved(ANN, 0.0)
    for step in range(5000):
        hood.hello_received(hello(revision=step), at(f"10.{step % 250}.{step // 250}.1"), 1 + step / 100)
    (ann,) = hood.neighbours()
    assert len(ann.addresses) == MAX_ADDRESSES and ann.addresses[0] == at("a", 4000)


def test_what_is_kept_for_later_does_not_grow_with_a_flood() -> None:
    hood = quiet()
    flood(hood, seconds=100, per_s=100, hosts=60_000)
    timers = 0
    while hood.next_timer() < float("inf"):
        hood.timer_fired(hood.next_timer())
        timers += 1
    assert timers < 4 * MAX_NEIGHBOURS
    assert hood.neighbours() == []


def test_the_same_seed_and_hellos_give_the_same_history() -> None:
    assert flood(quiet(3), 3, 1000, 500) == flood(quiet(3), 3, 1000, 500)
