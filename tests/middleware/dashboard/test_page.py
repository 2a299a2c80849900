"""The dashboard in a real browser, on a node that runs: what people see, and what strangers may not do."""

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.middleware.command import Commands

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt install chromium)")
# Without these it looks for its maker's servers at every start.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
TRAP = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def address(run: Commands) -> Iterator[str]:
    """Of a node's dashboard; the node hears and says nothing outside of this machine."""
    (run.home).mkdir(mode=0o700)
    (run.home / "settings.toml").write_text("[dashboard]\nport = 0\n")
    started = run.json("up", "--detach", "--interface", "nowhere", "--hello-port", "24748")
    assert started["node_id"]
    yield run.json("status")["dashboard"]
    run("down")


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1366, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    opened.complaints = []
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.on("console", lambda told: opened.complaints.append(told.text) if told.type == "error" else None)
    opened.goto(address)
    yield opened
    assert opened.complaints == []
    context.close()


def test_what_is_published_appears_by_itself(run: Commands, page: Any) -> None:
    page.wait_for_selector("text=Nothing has arrived yet.")
    run("feed", "create", "Street music")
    run("publish", "Street music", "--title", "Corner of 5th", "--attr", "genre=jazz")
    page.wait_for_selector("article >> text=Corner of 5th")
    assert page.inner_text("article .chips") == "genre jazz"


def test_the_token_leaves_the_address_and_stays_for_the_tab(page: Any) -> None:
    page.wait_for_selector(".state.live")
    assert "token" not in page.url
    page.reload()
    page.wait_for_selector(".state.live")


def test_nobody_gets_in_without_the_token(browser: Any, address: str) -> None:
    context = browser.new_context()
    opened = context.new_page()
    opened.goto(address.partition("#")[0])
    opened.wait_for_selector("#notice >> text=token is missing or wrong")
    assert opened.locator("article").count() == 0
    context.close()


def test_what_strangers_write_is_text_and_nothing_else(run: Commands, page: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(f"<html>{TRAP}</html>")
    run("me", "--name", "<b>Mallory</b>")
    run("feed", "create", TRAP)
    words = ("--summary", TRAP, "--attr", f"note={TRAP}", "--category", "<i>", "--file")
    run("publish", TRAP, "--title", TRAP, *words, str(tmp_path / "page.html"))
    page.wait_for_selector("article")
    assert page.inner_text("article h3") == TRAP
    assert page.inner_text("article .who") == "<b>Mallory</b>"
    assert page.locator("article img, article script, article b:not(.chips b), article i").count() == 0
    assert page.title() == "passerby"


def test_a_picture_is_shown_in_place_and_a_page_is_only_saved(
    run: Commands, page: Any, tmp_path: Path
) -> None:
    (tmp_path / "dot.png").write_bytes(
        bytes.fromhex(
            "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
            "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
        )
    )
    (tmp_path / "evil.html").write_text(TRAP)
    run("feed", "create", "F")
    files = ("--file", str(tmp_path / "dot.png"), "--file", str(tmp_path / "evil.html"))
    run("publish", "F", "--title", "T", *files)
    picture = page.locator("article img[src]")
    picture.evaluate("element => element.decode()")
    assert picture.evaluate("element => element.naturalWidth") == 1
    with page.expect_download() as saved:
        page.click("text=Save evil.html")
    assert Path(saved.value.path()).read_text() == TRAP
    assert page.title() == "passerby"


def test_words_and_files_are_published_from_the_page(run: Commands, page: Any, tmp_path: Path) -> None:
    (tmp_path / "song.txt").write_text("la la la")
    page.wait_for_selector(".state.live")
    page.click("#compose")
    assert "whoever is near can read this" in page.inner_text("dialog")
    page.fill("dialog [name=new]", "From the page")
    page.fill("dialog [name=title]", "Hello")
    page.fill("dialog [name=words]", "two\nlines")
    page.set_input_files("dialog [name=files]", str(tmp_path / "song.txt"))
    page.click("dialog button[type=submit]")
    page.wait_for_selector("article >> text=Hello")
    (entry,) = run.json("entries")
    assert entry["summary"] == "two\nlines" and entry["enclosures"][0]["name"] == "song.txt"
    assert Path(entry["enclosures"][0]["path"]).read_text() == "la la la"
    assert not list((run.home / "uploads").glob("*/*"))


def test_a_feed_is_followed_and_left(run: Commands, page: Any) -> None:
    feed = run.json("feed", "create", "F")["id"]
    page.on("dialog", lambda asked: asked.accept())
    page.click("button:text-is('Follow')")
    page.wait_for_selector("button:text-is('Following')")
    assert [each["feed"] for each in run.json("subscriptions")] == [feed]
    page.click("button:text-is('Following')")
    page.wait_for_selector("button:text-is('Follow')")
    assert run.json("subscriptions") == []


def test_a_node_that_stops_is_told_and_comes_back(run: Commands, page: Any) -> None:
    page.wait_for_selector(".state.live")
    port = page.url.rpartition(":")[2].strip("/")
    run("down")
    page.wait_for_selector("#notice:visible")
    assert page.inner_text("#state") == "Not connected"
    page.complaints.clear()  # the browser tells of each try that nobody answered
    (run.home / "settings.toml").write_text(f"[dashboard]\nport = {port}\n")
    run("up", "--detach", "--interface", "nowhere", "--hello-port", "24748")
    page.wait_for_selector(".state.live")
    page.complaints.clear()


def test_on_a_phone_there_is_one_part_at_a_time(browser: Any, address: str) -> None:
    context = browser.new_context(viewport={"width": 412, "height": 892}, color_scheme="dark")
    opened = context.new_page()
    opened.goto(address)
    opened.wait_for_selector(".state.live")
    for tab in ("near", "main", "feeds", "device"):
        opened.click(f".tabs [data-tab={tab}]")
        shown = [part for part in ("near", "main", "feeds", "device") if opened.is_visible(f"#{part}")]
        assert shown == [tab]
    assert opened.evaluate("document.documentElement.scrollWidth") <= 412
    context.close()


def ask(address: str, path: str, *, body: bytes | None = None, **headers: str) -> tuple[int, str]:
    base, _, token = address.partition("#token=")
    sent = {"Authorization": f"Bearer {token}", **{name.replace("_", "-"): v for name, v in headers.items()}}
    request = urllib.request.Request(base.rstrip("/") + path, data=body, headers=sent)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_page_cannot_name_files_of_the_disk_or_calls_that_are_not_its_own(address: str) -> None:
    def call(method: str, **params: object) -> tuple[int, str]:
        return ask(address, "/call", body=json.dumps({"method": method, "params": params}).encode())

    assert call("status")[0] == 200
    assert call("publish", feed="F", title="T", files=["/etc/passwd"])[0] == 403
    assert call("entry", entry="x", into="/tmp")[0] == 403
    for method in ("stop", "export_me", "import_feed", "export_feed", "nothing"):
        assert call(method)[0] == 404
    assert call("feeds", where="1 +")[0] == 400
    assert ask(address, "/call", body=b"[1")[0] == 400
    assert ask(address, "/call", body=b"x" * 300_000)[0] == 413


def test_wrong_hosts_origins_and_tokens_are_refused(address: str) -> None:
    assert ask(address, "/", Host="evil.example:4748")[0] == 421
    assert ask(address, "/live", Origin="http://evil.example")[0] == 403
    assert ask(address, "/call", body=b"{}", Authorization="Bearer nothing")[0] == 401
    assert ask(address, "/metrics")[0] == 401
    assert ask(address, "/media/" + "ab" * 32)[0] == 404
    assert ask(address, "/nothing")[0] == 404
