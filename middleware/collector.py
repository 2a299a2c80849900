"""How every process of ours runs Python's garbage collector: seldom, since almost nothing of ours has cycles.

Python looks for cycles after each 700 new objects. A batch of a hundred entries makes thousands, which all go
by themselves when it is stored; walking them meanwhile finds nothing and takes a tenth of the time.
"""

import gc

NEW_OBJECTS = 50_000


def relax_collector() -> None:
    gc.set_threshold(NEW_OBJECTS, 20, 20)
