"""Holds the layers of docs/architecture.md: who may import whom, and what a core may not touch.

The rules are the tables below; an exception stands in a table together with its reason.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# What each package may import of ours, besides itself.
MAY_IMPORT = {
    "contentdb": set(),
    "discovery": {"contentdb"},
    "transport": {"contentdb"},
    "middleware": {"contentdb", "discovery", "transport"},
    "passerby": {"contentdb", "middleware"},
    "apps": {"passerby"},
    "main": {"apps"},
    "android": {"apps", "middleware"},
    "evaluation": {"contentdb", "discovery", "transport", "middleware"},
}
OURS = {*MAY_IMPORT, "tests"}
# Inside a function only: who does not measure does not load it.
LAZILY = {("passerby", "evaluation.cli")}

# Each foreign library and the places that may import it. A library that is not here is not ours to use yet.
FOREIGN = {
    "cryptography": r"contentdb/(identity|keystore|keybackup)|transport/noise|evaluation/.*/bare",
    "lxml": r"contentdb/xmlguard",
    "pybloom_live": r"contentdb/bloom",
    "bitarray": r"contentdb/bloom",  # comes with pybloom_live and holds its bits
    "zeroconf": r"discovery/mdns",
    "h11": r"middleware/dashboard/connection",
    "ifaddr": r"discovery/interfaces",
    "numpy": r"contentdb/\w+_vectorised|contentdb/(bloom|sketch|selector/columns)|evaluation/",
    "kivy": r"apps/",
    "pyspark": r"evaluation/",
    "pandas": r"evaluation/",
    "pyarrow": r"evaluation/",
    "feedparser": r"contentdb/lenient|middleware/",
    "jnius": r"middleware/device/phone",
}
# Not everywhere installed: imported inside a function, or in a module that is itself imported so.
OPTIONAL = {"numpy", "lxml", "feedparser", "jnius", "zeroconf"}
VECTORISED = r"contentdb/\w+_vectorised"
# One file, one connection, and its SQL in one package.
STANDARD_BUT_BOUND = {"sqlite3": r"contentdb/|evaluation/benchmarks/"}

IMPURE = {
    "asyncio", "socket", "select", "selectors", "ssl", "threading", "multiprocessing", "concurrent",
    "subprocess", "signal", "time", "secrets", "uuid", "os", "shutil", "tempfile", "fcntl", "msvcrt",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "exec", "eval"}
# Methods that read the clock whatever their module was called when it was imported.
CLOCK_READERS = {"now", "utcnow", "today"}
CORES = ("contentdb", "discovery", "transport", "middleware")
# Every module of the four packages is a core, but for these, which keep files or talk to people.
SHELLS = {
    "contentdb/apart": "reads foreign feeds in a process of its own",
    "contentdb/blobs_disk": "keeps enclosures as files, under a lock, since workers read them too",
    "contentdb/blobs_files": "the calls to the file system that enclosures need",
    "contentdb/openfile": "holds a descriptor that an app has passed",
    "contentdb/blobs_recovery": "looks at files after an unclean stop",
    "contentdb/blobs_shelf": "knows where each file of an enclosure lies",
    "contentdb/blobs_state": "keeps the have-bitmap beside the bytes",
    "contentdb/blobs_memory": "reads the files that are published and writes those that are exported",
    "contentdb/database": "makes the database file private and knows whether it is as it was left",
    "contentdb/exchange": "writes a feed as a folder and reads it back",
    "contentdb/foreign": "reads feed documents from files",
    "contentdb/keystore": "keeps keys in files of mode 0600",
    "discovery/interfaces": "asks the operating system which interfaces are up",
    "discovery/mdns": "talks through zeroconf",
    "discovery/probing": "sends datagrams to itself and sees which come back",
    "discovery/udp": "owns the sockets that hellos travel through",
    "middleware/api/address": "keeps the pointer to the local socket as a file",
    "middleware/api/connection": "owns one app's socket",
    "middleware/api/listening": "opens the socket that apps connect to",
    "middleware/api/local": "opens a home for calls while no node runs",
    "middleware/api/tokens": "keeps the tokens of apps as files",
    "middleware/api/server": "accepts apps and copies files on workers",
    "middleware/beacons": "the beacons of a node and what they tell it",
    "middleware/cli/": "the command line",
    "middleware/client/": "the app's end of the local socket",
    "middleware/gateway/fetch": "talks to servers of the web",
    "middleware/gateway/keeping": "keeps the sources of a gateway as a file",
    "middleware/gateway/visiting": "keeps what is fetched as files until it is taken in",
    "middleware/logfile": "keeps the logbook as files",
    "middleware/dashboard/dashboard": "lets the page look once a second",
    "middleware/dashboard/server": "owns the sockets of browsers",
    "middleware/dashboard/uploads": "keeps files on their way into an entry",
    "middleware/device/": "asks the device",
    "middleware/service": "the sockets, timers and threads of a node",
    "middleware/verifying": "the thread that verifies, beside the loop",
    "transport/tcp": "owns the sockets of streams, listening and connected",
}

MAX_FILE_LINES, MAX_FUNCTION_LINES = 300, 40
LONG_FUNCTIONS = {"contentdb/rows.py: add": "one row, column by column, in the order of the table"}


def imports_in(tree: ast.AST, lazy: bool = False) -> Iterator[tuple[str, bool]]:
    """Each imported name with its dots, and whether it is imported only when a function runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from ((f"{base}.{alias.name}", lazy) for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from ((name, True) for name, _ in imports_in(node))
        else:
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports_in(node, lazy or is_function)


def import_faults(path: str, tree: ast.Module) -> Iterator[str]:
    package = path.split("/")[0].removesuffix(".py")
    for name, lazy in imports_in(tree):
        top = name.split(".")[0]
        if name.startswith("."):
            yield f"{path} imports relatively; write the whole name"
        elif top in OURS:
            lazily = lazy and any(name.startswith(target) for who, target in LAZILY if who == package)
            if top != package and top not in MAY_IMPORT[package] and not lazily:
                yield f"{path} imports {name}, which {package} may not"
            if re.fullmatch(VECTORISED, name.rpartition(".")[0].replace(".", "/")) and not lazy:
                yield f"{path} imports {name} before it knows whether numpy is there"
        elif top in FOREIGN or top in STANDARD_BUT_BOUND:
            yield from foreign_faults(path, top, lazy)
        elif top not in sys.stdlib_module_names:
            yield f"{path} imports {top}, which is no dependency; see FOREIGN in this test"


def foreign_faults(path: str, top: str, lazy: bool) -> Iterator[str]:
    if not re.match({**FOREIGN, **STANDARD_BUT_BOUND}[top], path):
        yield f"{path} imports {top}, which is not used there"
    is_loaded_late = lazy or re.match(VECTORISED, path) or path.startswith("evaluation/")
    if top in OPTIONAL and not is_loaded_late:
        yield f"{path} needs {top} to be imported at all; import it inside the function that uses it"


def purity_faults(path: str, tree: ast.Module) -> Iterator[str]:
    if not path.startswith(CORES) or any(path.startswith(shell) for shell in SHELLS):
        return
    for name, _lazy in imports_in(tree):
        if name.split(".")[0] in IMPURE:
            yield f"{path} is a core and imports {name}"
        if name.split(".")[0] == "random" and name != "random.Random":
            yield f"{path} is a core and imports {name}; only random.Random, and from outside"
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id in IMPURE_CALLS:
            yield f"{path}:{called.lineno} is in a core and calls {called.id}"
        if isinstance(called, ast.Attribute) and called.attr in CLOCK_READERS:
            yield f"{path}:{called.lineno} is in a core and reads the clock"


def size_faults(path: str, source: str, tree: ast.Module) -> Iterator[str]:
    lines = source.count("\n")
    if lines > MAX_FILE_LINES:
        yield f"{path} has {lines} lines; at most {MAX_FILE_LINES}"
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > MAX_FUNCTION_LINES and f"{path}: {node.name}" not in LONG_FUNCTIONS:
            yield f"{path}: {node.name} has {length} lines; at most {MAX_FUNCTION_LINES}"


def habit_faults(path: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield f"{path}:{node.lineno} has state at module level"
        if isinstance(node, ast.ExceptHandler) and swallows_everything(node):
            yield f"{path}:{node.lineno} swallows every exception"


def swallows_everything(handler: ast.ExceptHandler) -> bool:
    if isinstance(handler.body[-1], ast.Raise):
        return False
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    broad = {"Exception", "BaseException"}
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in broad) for kind in kinds)


def name_faults(path: str) -> Iterator[str]:
    stem = Path(path).stem
    if stem in sys.stdlib_module_names - {"__main__"} or stem in FOREIGN:
        yield f"{path} has the name of a library"
    if path == "android/__init__.py":
        yield f"{path} hides the Android toolchain's own package"


def faults(path: str, source: str) -> list[str]:
    tree = ast.parse(source)
    return [
        *import_faults(path, tree),
        *purity_faults(path, tree),
        *size_faults(path, source, tree),
        *habit_faults(path, tree),
        *name_faults(path),
    ]


def product_files() -> list[str]:
    files = [ROOT / f"{name}.py" for name in ("passerby", "main")]
    files += [path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py")]
    return sorted(path.relative_to(ROOT).as_posix() for path in files if path.exists())


@pytest.mark.parametrize("path", product_files())
def test_a_module_keeps_the_rules(path: str) -> None:
    assert faults(path, (ROOT / path).read_text(encoding="utf-8")) == []


def test_every_package_is_shipped_but_tests_and_android() -> None:
    folders = {Path(path).parent.as_posix() for path in product_files() if path.endswith("/__init__.py")}
    assert {folder.replace("/", ".") for folder in folders} == set(PROJECT["tool"]["setuptools"]["packages"])


def test_every_dependency_has_its_place() -> None:
    listed = [*PROJECT["project"]["dependencies"]]
    for extra, needs in PROJECT["project"]["optional-dependencies"].items():
        listed += needs if extra != "dev" else []
    names = {re.split(r"[<>=;\[ ]", need)[0].replace("-", "_").lower() for need in listed}
    assert names <= set(FOREIGN)


def test_no_exception_is_kept_that_nobody_needs() -> None:
    files = product_files()
    assert [shell for shell in SHELLS if not any(path.startswith(shell) for path in files)] == []
    for where in LONG_FUNCTIONS:
        path, name = where.split(": ")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_content_needs_neither_numpy_nor_lxml_to_be_imported() -> None:
    modules = [path[:-3].replace("/", ".") for path in product_files() if path.startswith("contentdb/")]
    modules = [name for name in modules if not name.endswith(("__init__", "_vectorised"))]
    blocked = "import sys; sys.modules['numpy'] = sys.modules['lxml'] = None\n"
    source = blocked + "\n".join(f"import {name}" for name in modules)
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


WRONG = [
    ("contentdb/x.py", "from middleware.node import Node", "may not"),
    ("contentdb/x.py", "def f():\n    import evaluation.cli", "may not"),
    ("discovery/x.py", "import transport.frame", "may not"),
    ("middleware/x.py", "import passerby", "may not"),
    ("middleware/x.py", "import tests.strategies", "may not"),
    ("apps/x.py", "from contentdb.store import Store", "may not"),
    ("passerby.py", "import evaluation.cli", "may not"),
    ("evaluation/x.py", "import apps.quiz", "may not"),
    ("contentdb/x.py", "from .names import FeedId", "relatively"),
    ("contentdb/x.py", "import requests", "no dependency"),
    ("middleware/x.py", "from kivy.app import App", "not used there"),
    ("middleware/x.py", "import pyspark", "not used there"),
    ("middleware/x.py", "import sqlite3", "not used there"),
    ("contentdb/sketch.py", "import numpy", "inside the function"),
    ("contentdb/sketch.py", "try:\n    import numpy\nexcept ImportError:\n    pass", "inside the function"),
    ("contentdb/sketch.py", "from contentdb.sketch_vectorised import cells", "before it knows"),
    ("transport/x.py", "import asyncio", "is a core"),
    ("discovery/x.py", "from time import monotonic", "is a core"),
    ("discovery/x.py", "def f():\n    import socket", "is a core"),
    ("contentdb/x.py", "import random", "only random.Random"),
    ("contentdb/x.py", "from random import choice", "only random.Random"),
    ("contentdb/x.py", "def f(p):\n    return open(p)", "calls open"),
    ("contentdb/x.py", "from datetime import datetime\nat = datetime.now()", "reads the clock"),
    ("contentdb/x.py", "x = 1\n" * 301, "301 lines"),
    ("contentdb/x.py", "def f():\n" + "    x = 1\n" * 40, "41 lines"),
    ("contentdb/x.py", "def f():\n    global x", "module level"),
    ("contentdb/x.py", "try:\n    pass\nexcept Exception:\n    pass", "swallows"),
    ("contentdb/x.py", "try:\n    pass\nexcept (ValueError, BaseException):\n    pass", "swallows"),
    ("contentdb/x.py", "try:\n    pass\nexcept:\n    pass", "swallows"),
    ("contentdb/ast.py", "", "name of a library"),
    ("discovery/zeroconf.py", "", "name of a library"),
    ("android/__init__.py", "", "hides"),
]


@pytest.mark.parametrize(("path", "source", "complaint"), WRONG)
def test_a_broken_rule_is_noticed(path: str, source: str, complaint: str) -> None:
    assert any(complaint in fault for fault in faults(path, source))


RIGHT = [
    ("middleware/x.py", "from contentdb.store import Store\nfrom transport.frame import Frame"),
    ("passerby.py", "def main():\n    from evaluation.cli import main"),
    ("contentdb/sketch.py", "def f():\n    from contentdb.sketch_vectorised import cells\n    import numpy"),
    ("contentdb/selector/columns.py", "if TYPE_CHECKING:\n    import numpy"),
    ("contentdb/database.py", "import os, sqlite3"),
    ("contentdb/x.py", "from random import Random"),
    ("contentdb/x.py", "def f(self):\n    return self.now"),
    ("contentdb/x.py", "try:\n    pass\nexcept BaseException:\n    x = 1\n    raise"),
]


@pytest.mark.parametrize(("path", "source"), RIGHT)
def test_what_is_allowed_raises_no_complaint(path: str, source: str) -> None:
    assert faults(path, source) == []
