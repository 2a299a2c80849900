"""A process that floods the network with hellos until its standard input ends.

    python -m tests.middleware.flooder BROADCAST PORT NODE...

It invents an id for each of some thousand hellos a second, and between them speaks in the name of the given
nodes: revisions that are not theirs, gains that they do not have, and their own ids sent back to them.
"""

import json
import select
import socket
import sys
import time
from random import Random

from contentdb.names import NodeId
from discovery.hello import Hello, encode_hello

PER_S, STEP_S = 3000, 0.02


def main() -> None:
    target, nodes = (sys.argv[1], int(sys.argv[2])), [NodeId(node) for node in sys.argv[3:]]
    rng, sent = Random(1), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        while not select.select([sys.stdin], [], [], 0)[0]:
            for number in range(int(PER_S * STEP_S)):
                is_forged = number == 0 and nodes
                node = rng.choice(nodes) if is_forged else NodeId(rng.randbytes(20).hex())
                gained = tuple(rng.randbytes(8).hex() for _ in range(rng.randrange(3)))
                revision, port = rng.randrange(3, 2**40), rng.randrange(1024, 65_536)
                epoch = rng.randbytes(8).hex()
                hello = Hello(node, port, epoch, revision, 1.1, gained=gained)
                sock.sendto(encode_hello(hello), target)
                sent += 1
            if sent % PER_S == 0:
                print(json.dumps({"sent": sent}), flush=True)
            time.sleep(STEP_S)


if __name__ == "__main__":
    main()
