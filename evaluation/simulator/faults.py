"""Faults of machines, by chance: killed processes, power cuts, full disks and clocks that jump."""

from collections.abc import Callable

from contentdb.errors import StoreError
from evaluation.simulator.machine import Crash, Machine
from evaluation.simulator.opportunity import Trouble
from evaluation.simulator.simnode import SimNode
from evaluation.simulator.world import World

KINDS = ("kill", "power", "disk", "clock", "interference")
# A statement or a chunk each: from the one that comes next to some sessions later.
MAX_FUSE = 2_000
DAY_MS = 86_400_000
JUMPS_MS = (1_000, 3_600_000, 2 * DAY_MS, 3_650 * DAY_MS)
RESTART_AFTER_S, ROOM_AFTER_S, RIGHT_AFTER_S = 5.0, 20.0, 60.0


class Faults:
    """Which kinds of fault this world has, what they do, and who starts nodes again."""

    def __init__(self, world: World, names: list[str]) -> None:
        self._world, self._rng, self._names = world, world.rng, names
        self.kinds = [kind for kind in KINDS if self._rng.random() < 0.4]
        self.interference = 0.4 if "interference" in self.kinds else 0.0
        self.troubles: list[Trouble] = []
        self._since: dict[tuple[str, str], float] = {}
        world.node_ended = self._ended
        if "power" in self.kinds:
            for name in names:
                world.nodes[name].machine.dread_power_cuts()

    def deeds(self) -> list[tuple[Callable[[], None], float]]:
        every: dict[str, list[tuple[Callable[[], None], float]]] = {
            "kill": [(self._kill, 2), (self._light_fuse, 3), (self._stop, 1)],
            "power": [(self._cut_power, 2)],
            "disk": [(self._fill_disk, 2)],
            "clock": [(self._jump, 3)],
        }
        return [deed for kind in self.kinds for deed in every.get(kind, [])]

    def end(self) -> None:
        """From now on nothing breaks; what is broken is put right."""
        for name in self._names:
            machine = self._world.nodes[name].machine
            machine.disk.fuse = None
            machine.make_room()
            machine.clock_ms = self._rng.randint(-30_000, 30_000)
            self._start_again(name)

    # -- processes

    def _someone(self) -> SimNode | None:
        running = [node for name in self._names if (node := self._world.nodes[name]).is_running]
        return self._rng.choice(running) if running else None

    def _kill(self) -> None:
        if node := self._someone():
            node.killed()

    def _light_fuse(self) -> None:
        """It will be killed in the middle of something."""
        if node := self._someone():
            self._begin("fuse", node.name)
            node.machine.disk.fuse = self._rng.randint(1, MAX_FUSE)

    def _stop(self) -> None:
        if node := self._someone():
            node.stop()

    def _cut_power(self) -> None:
        if node := self._someone():
            node.power_failed(self._rng)

    def _ended(self, node: SimNode) -> None:
        self._begin("down", node.name)
        self._world.after(self._rng.expovariate(1 / RESTART_AFTER_S), lambda: self._start_again(node.name))

    def _start_again(self, name: str) -> None:
        old = self._world.nodes[name]
        if old.is_running:
            return
        try:
            self._world.start_again(name)
        except (StoreError, Crash) as error:  # its disk is still full, or it was killed while it started
            if isinstance(error, Crash):
                old.machine.killed()
            self._world.after(RESTART_AFTER_S, lambda: self._start_again(name))
            return
        self._finish("fuse", name)
        self._finish("down", name)

    # -- disks and clocks

    def _fill_disk(self) -> None:
        if node := self._someone():
            self._begin("disk", node.name)
            node.machine.fill()
            self._world.after(
                self._rng.expovariate(1 / ROOM_AFTER_S), lambda: self._make_room(node.name, node.machine)
            )

    def _make_room(self, name: str, machine: Machine) -> None:
        self._finish("disk", name)
        machine.make_room()

    def _jump(self) -> None:
        if node := self._someone():
            self._begin("clock", node.name)
            jump = self._rng.choice(JUMPS_MS) * self._rng.uniform(0.5, 1.5) * self._rng.choice((-1, 1))
            node.machine.clock_ms = round(jump)
            self._world.after(self._rng.expovariate(1 / RIGHT_AFTER_S), lambda: self._set_right(node))

    def _set_right(self, node: SimNode) -> None:
        self._finish("clock", node.name)
        node.machine.clock_ms = self._rng.randint(-30_000, 30_000)

    # -- when something was wrong with whom

    def _begin(self, kind: str, name: str) -> None:
        self._since.setdefault((kind, name), self._world.now)

    def _finish(self, kind: str, name: str) -> None:
        since = self._since.pop((kind, name), None)
        if since is not None:
            self.troubles.append(Trouble(name, since, self._world.now))
