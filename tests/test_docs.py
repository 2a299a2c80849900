"""Documents that cannot go stale unnoticed: links lead somewhere, names exist, each failure is explained."""

import ast
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = {".md", ".py", ".toml", ".json", ".sh", ".spec", ".txt", ""}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:root|work|home/\w+|Users/\w+|opt)/")
REGISTRY = re.compile(r"pypi\.org|pythonhosted\.org|npmjs\.|anaconda\.org|crates\.io", re.IGNORECASE)


def project_files() -> Iterator[Path]:
    for folder, inner, names in os.walk(ROOT):
        hidden = [name for name in inner if name.startswith(".") and name != ".ci"]
        generated = [name for name in inner if name.endswith((".egg-info", "__pycache__")) or name == "build"]
        inner[:] = sorted(set(inner) - set(hidden) - set(generated))
        for name in sorted(names):
            if Path(name).suffix in TEXT and (name == ".gitignore" or not name.startswith(".")):
                yield Path(folder, name)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


PAGES = [relative(path) for path in project_files() if path.suffix == ".md"]


def prose_of(page: str) -> str:
    """The page without its fenced blocks, where a bracket is no link and a # no heading."""
    return re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors_of(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", prose_of(page), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links_of(page: str) -> Iterator[tuple[str, str]]:
    """Each link to a file of ours: its page and its anchor, which may be empty."""
    for target in LINK.findall(prose_of(page)):
        if not re.match(r"[a-z]+:", target):
            name, _, anchor = target.partition("#")
            path = (ROOT / page).parent / name if name else ROOT / page
            yield os.path.relpath(path, ROOT).replace(os.sep, "/"), anchor


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    for target, anchor in links_of(page):
        assert (ROOT / target).exists(), f"{page} links to {target}, which is not there"
        assert not anchor or anchor in anchors_of(target), f"{target} has no heading for #{anchor}"


def test_every_page_can_be_reached_from_the_readme_or_the_contributors_page() -> None:
    reached, waiting = set[str](), ["README.md", "CONTRIBUTING.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.endswith(".md") and (ROOT / page).exists():
            reached.add(page)
            waiting += [target for target, _anchor in links_of(page)]
    assert sorted(set(PAGES) - reached) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_module_a_page_names_exists(page: str) -> None:
    for name in re.findall(r"`((?:[\w.]+/)+[\w.]*)`", prose_of(page)):
        is_ours = name.split("/")[0] in {path.name for path in ROOT.iterdir()}
        assert not is_ours or (ROOT / name).exists(), f"{page} names {name}, which is not there"


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    for path in set(project_files()) - {Path(__file__)}:  # this file has to say what it looks for
        text = path.read_text(encoding="utf-8")
        assert not MACHINE_PATH.search(text), f"{relative(path)} has a path of some machine"
        assert not REGISTRY.search(text), f"{relative(path)} names a package registry; pip knows its own"


def test_what_must_be_found_is_found() -> None:
    assert MACHINE_PATH.search("see /root/x")
    assert not MACHINE_PATH.search("~/work/x or a/root/b")
    assert REGISTRY.search("https://PyPI.org/simple")


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = sum(project["optional-dependencies"].values(), project["dependencies"])
    reasons = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = {re.split(r"[<>=;\[ ]", need)[0] for need in listed}
    assert [name for name in sorted(names) if f"`{name}`" not in reasons] == []


def store_errors() -> Iterator[tuple[str, list[str]]]:
    """Where each StoreError is made, and the parts of its sentence that do not vary."""
    for path in sorted((ROOT / "contentdb").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in ("StoreError", "DamagedState"):
                texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
                phrases = [phrase.strip() for text in texts for phrase in re.split(r"[;:,(]", str(text))]
                yield f"{relative(path)}:{called.lineno}", [phrase for phrase in phrases if " " in phrase]


def test_every_failure_of_the_store_is_explained() -> None:
    explained = (ROOT / "docs" / "recovery.md").read_text(encoding="utf-8")
    errors = [error for error in store_errors() if error[1]]
    assert len(errors) > 10
    assert [e for e in errors if not any(phrase in explained for phrase in e[1])] == []


def test_the_changelog_starts_with_what_is_not_released_yet() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    assert headings[0] == "[Unreleased]"
