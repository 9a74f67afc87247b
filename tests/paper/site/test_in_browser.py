"""Every page of a built site in a real browser: navigation, sorting, looks, paper, keys, accessibility, filters.

FIVESENTENCES_SITE names the folder of the site:

    FIVESENTENCES_SITE=results/paper/demo uv run pytest -m browser tests/paper/site
"""

from __future__ import annotations

import math
import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from fivesentences.documents import read_json
from fivesentences.reproduction.paper.claims.writing import LEDGER

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
BUILT = os.environ.get("FIVESENTENCES_SITE")
GALLERY, RUNS, CLAIMS = "gallery/index.html", "runs/index.html", "claims/claims.html"
FILES = sorted(Path(BUILT).rglob("*.html")) if BUILT else []
TEXTS = {str(path.relative_to(BUILT or "")): path.read_text(encoding="utf-8") for path in FILES}
PAGES = [path for path, text in TEXTS.items() if 'class="site"' in text]
OUTSIDE = [path for path in TEXTS if path not in PAGES][:1]  # stands alone, without the frame
every_page = pytest.mark.parametrize("path", PAGES)
pages_with_tables = pytest.mark.parametrize(
    "path", [path for path in PAGES if 'data-sort-method="value"' in TEXTS[path]]
)
pytestmark = [pytest.mark.browser, pytest.mark.skipif(not BUILT, reason="FIVESENTENCES_SITE names no built site")]

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(23, 23, 22)"


@pytest.mark.parametrize("path", [*PAGES, *OUTSIDE])
def test_a_page_opens_without_an_error_and_asks_for_nothing_but_itself(opened, site_folder, path):
    page, here = opened("index.html"), (site_folder / path).as_uri()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(here, wait_until="networkidle")
    beside = [url for url in asked if not url.startswith("data:")]
    assert said == [] and beside[0] == here
    assert all(url.startswith(site_folder.as_uri()) for url in beside)  # the gallery may keep thumbnails beside it


class Read(HTMLParser):
    """Addresses and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.anchors += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in ("href", "src") and value and value[:5] != "data:"]


def test_every_link_of_every_page_leads_to_a_file_and_an_anchor_and_no_anchor_stands_twice(site_folder):
    pages = {path.resolve(): Read(path) for path in site_folder.rglob("*.html")}
    assert len(pages) >= len(PAGES)
    wrong = []
    for path, page in pages.items():
        assert len(page.anchors) == len(set(page.anchors)), path
        for link in page.links:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            inside = target.is_relative_to(site_folder.resolve()) or target == site_folder.resolve().parent / LEDGER
            there = not parts.scheme and target.is_file() and inside
            anchored = not parts.fragment or target not in pages or parts.fragment in pages[target].anchors
            if not (there and anchored):
                wrong.append(f"{path.relative_to(site_folder.resolve())}: {link}")
    assert wrong == []


@every_page
def test_navigation_and_outline_lead_there_and_say_where_the_reader_is(opened, path):
    page = opened(path)
    links, current = page.locator("nav[aria-label=Pages] a"), page.locator("nav a[aria-current=page]")
    here = current.inner_text()
    other = next(one for one in links.all_inner_texts() if one != here)
    links.get_by_text(other, exact=True).click()
    assert current.inner_text() == other
    page.go_back()
    assert current.inner_text() == here
    headings = page.locator("main :is(h2[id], h3[id]):not(.js-toc-ignore)")
    outline = page.locator("nav.outline a.toc-link")
    assert outline.count() == headings.count() >= 1
    for index in {0, outline.count() // 2, outline.count() - 1}:
        outline.nth(index).click()
        heading = page.locator(f'[id="{(outline.nth(index).get_attribute("href") or "").removeprefix("#")}"]')
        box = heading.bounding_box()
        at_the_end = page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
        assert box is not None and -1 <= box["y"] < (900 if at_the_end else 60)
    page.evaluate("scrollTo(0, 0)")
    outline.nth(0).click()
    page.wait_for_function("document.querySelectorAll('nav.outline .is-active-link').length === 1")


@every_page
def test_no_page_is_wider_than_the_screen_and_a_narrow_one_folds_its_menu(opened, path):
    for width in (1400, 390, 320):
        page = opened(path, width=width)
        page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    link = page.locator("nav[aria-label=Pages] a").first
    assert not link.is_visible()
    page.locator("details.menu > summary").click()
    assert link.is_visible() and page.evaluate("document.documentElement.scrollWidth") <= 320
    page.locator("nav.outline a").first.click()
    page.wait_for_function("!document.querySelector('details.menu').open")


@every_page
def test_the_look_follows_the_system_until_the_reader_chooses_and_is_remembered(opened, site_folder, path):
    page = opened(path, color_scheme="dark")
    assert page.evaluate(BACKGROUND) == DARK
    page.get_by_role("button", name="Light page").click()
    assert page.evaluate(BACKGROUND) == LIGHT
    other = page.context.new_page()  # the first stays open: the browser stores the choice in its own time
    for _ in range(300):
        other.goto((site_folder / CLAIMS).as_uri())
        if other.evaluate(BACKGROUND) == LIGHT:
            break
        other.wait_for_timeout(100)
    assert other.evaluate(BACKGROUND) == LIGHT and other.get_by_role("button", name="Dark page").is_visible()
    assert opened(path, color_scheme="light").evaluate(BACKGROUND) == LIGHT


@every_page
def test_on_paper_there_is_no_navigation_nothing_is_cut_and_what_was_folded_is_shown(opened, path):
    page = opened(path, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(BACKGROUND) == LIGHT and not page.locator("header.side").is_visible()
    hidden = """[...document.querySelectorAll('main .scroll')].filter(one => one.scrollHeight > one.clientHeight + 1
        && getComputedStyle(one).overflowY !== 'visible').length"""
    assert page.evaluate(hidden) == 0 and page.pdf().startswith(b"%PDF")
    assert all(one.is_visible() for one in page.locator("main details li").all()[:20])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@every_page
def test_nothing_is_against_the_rules_of_accessibility(opened, path, scheme):
    page = opened(path, color_scheme=scheme)
    page.evaluate(UNFOLD)
    page.evaluate(AXE)
    found = page.evaluate(
        "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})"
        ".then(result => ({bad: result.violations.map(one => [one.id, one.nodes.slice(0, 3).map(node => node.html)]),"
        " good: result.passes.map(one => one.id)}))"
    )
    assert found["bad"] == []
    assert {"color-contrast", "document-title", "html-has-lang"} <= set(found["good"])  # they were really looked at


@every_page
def test_keys_lead_past_the_navigation_and_open_what_is_folded_and_no_script_is_needed_to_read(opened, path):
    page = opened(path)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    for fold in page.locator("main details > summary").filter(visible=True).all()[:1]:
        fold.click()
        assert fold.locator("xpath=..").evaluate("one => one.open") is True
        fold.press("Enter")
        assert fold.locator("xpath=..").evaluate("one => one.open") is False
    page = opened(path, java_script_enabled=False)
    assert page.locator("h1").is_visible() and page.locator("nav[aria-label=Pages] a").first.is_visible()
    assert not [one for one in page.locator(".needs-script, .theme").all() if one.is_visible()]


# --- tables -----------------------------------------------------------------------------------------------------------


def numbers_in(table, column: int) -> list[list[float]]:
    """Numbers of a column as they are sorted, by group."""
    texts = table.evaluate(
        """(table, column) => [...table.tBodies].filter(body => !body.classList.contains('title'))
        .map(body => [...body.rows].map(row => row.cells[column].dataset.sort ?? ''))""",
        column,
    )
    return [[float(text) if text else -math.inf for text in group] for group in texts]


@pages_with_tables
def test_a_column_sorts_by_value_within_each_group_by_click_and_by_key(opened, path):
    page, sorted_tables = opened(path), 0
    page.evaluate(UNFOLD)
    for table in page.locator("table.sortable").all():
        headings = table.locator("thead tr").last.locator("th").all()
        for column, heading in enumerate(headings):
            before = numbers_in(table, column)
            if heading.get_attribute("data-sort-method") != "value" or all(len(set(group)) < 2 for group in before):
                continue
            titles, senses = table.locator("tbody.title").all_inner_texts(), set()
            for press, key in ((heading.click, ()), (heading.press, ("Enter",))):
                press(*key)
                sense = heading.get_attribute("aria-sort")
                senses.add(sense)
                wanted = [sorted(group, reverse=sense == "descending") for group in before]
                assert numbers_in(table, column) == wanted
            assert senses == {"ascending", "descending"}
            assert table.locator("tbody.title").all_inner_texts() == titles
            assert table.locator("th[aria-sort]").count() == 1
            sorted_tables += 1
            break
    assert sorted_tables >= 1


@pages_with_tables
@pytest.mark.parametrize("width", [1400, 390])
def test_a_table_scrolls_sideways_alone_says_so_and_keeps_its_first_column_in_view(opened, path, width):
    page = opened(path, width=width, height=400)
    page.wait_for_timeout(200)  # until widths are observed
    tables = page.locator(".scroll").filter(visible=True, has=page.locator("table"))  # a figure scrolls too
    for region in tables.all():
        right, down = region.evaluate("one => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight]")
        said = region.evaluate("one => one.classList.contains('scrolls')")
        assert down <= 1 and said == (right > 1)
        region.evaluate("one => one.scrollTo(one.scrollWidth, 0)")
        stub = region.locator("tbody:not(.title) tr").last.locator("th").first.bounding_box()
        assert not said or abs(stub["x"] - region.bounding_box()["x"]) < 3


# --- claims, runs and the gallery -------------------------------------------------------------------------------------


def test_runs_are_found_by_words(opened):
    page = opened(RUNS)
    lines = page.locator("main tbody tr").filter(visible=True)
    every, name = lines.count(), page.locator("main tbody tr[id]").first.get_attribute("id")
    for words in (name.upper(), " ".join(reversed(name.split("/"))), "no such run"):
        page.locator("main input[type=search]").fill(words)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        assert lines.count() < every and (words == "no such run") == (lines.count() == 0)


@pytest.fixture
def gallery(site_folder):
    """What the gallery was made of."""
    if not (site_folder / GALLERY).is_file():
        pytest.skip("the built site has no gallery")
    return read_json(site_folder / "gallery" / "gallery.json")


def ids(queries) -> list[str]:
    return [f"{one['direction']}-{one['query']}" for one in queries]


def wait_for(page, queries) -> None:
    """Filters apply soon, not at once."""
    expected = ids(queries)
    counted = f"{len(expected)} of "
    page.wait_for_function("text => document.querySelector('[role=status]').textContent.startsWith(text)", arg=counted)
    shown = "[...document.querySelectorAll('.query')].filter(one => one.offsetParent).map(one => one.id)"
    assert page.evaluate(shown) == expected


def test_queries_are_filtered_by_direction_reason_and_words_and_counted(gallery, opened):
    page, queries = opened(GALLERY), gallery["queries"]
    wait_for(page, queries)
    direction, criterion = page.locator("main select").all()[:2]
    direction.select_option("t2i")
    of_side = [one for one in queries if one["direction"] == "t2i"]
    wait_for(page, of_side)
    assert not page.locator("#i2t").is_visible() and page.locator("#t2i").is_visible()
    number, chosen = next((at, one) for at, one in enumerate(gallery["criteria"]["t2i"]) if one["name"] == "contrast")
    criterion.select_option(chosen["key"])
    wait_for(page, [one for one in of_side if any(reason["criterion"] == number for reason in one["chosen"])])
    assert page.locator(".says").filter(visible=True).inner_text().endswith(chosen["says"])
    page.get_by_role("button", name="Show all").click()
    wait_for(page, queries)
    word = max(queries[0]["captions"][0].split(), key=len)
    page.locator("main input[type=search]").fill(f" {word.upper()} ")
    texts = {
        name: [one["image_id"] if one["direction"] == "i2t" else "", *one["captions"]]
        + [item["caption"] for answer in one["answers"] for item in answer["items"]]
        for name, one in zip(ids(queries), queries, strict=True)
    }
    wait_for(page, [one for one in queries if any(word.lower() in text.lower() for text in texts[ids([one])[0]])])
    page.locator("main input[type=search]").fill("missed NCS")  # words of the page, not of a caption
    wait_for(page, [])


def test_only_where_the_chosen_models_differ(gallery, opened):
    page, queries, k = opened(GALLERY), gallery["queries"], gallery["k"]
    page.get_by_label("Only where").check()
    wait_for(page, [one for one in queries if len({answer["rank"] <= k for answer in one["answers"]}) > 1])
    for box in page.locator("fieldset input").all()[2:]:
        box.uncheck()
    two = [one for one in queries if len({answer["rank"] <= k for answer in one["answers"][:2]}) > 1]
    wait_for(page, two)
    assert not two or page.locator(f"#{ids(two)[0]} .answer").filter(visible=True).count() == 2


def test_a_link_leads_to_its_query_whatever_is_filtered_and_thumbnails_are_there(gallery, opened, site_folder):
    wanted, page = ids(gallery["queries"])[-1], opened(GALLERY)
    page.goto(f"{(site_folder / GALLERY).as_uri()}#{wanted}")
    page.reload()
    page.wait_for_function("id => document.activeElement.id === id", arg=wanted)
    page.locator("main select").nth(0).select_option("i2t")
    wait_for(page, [one for one in gallery["queries"] if one["direction"] == "i2t"])
    page.evaluate("id => { location.hash = ''; location.hash = id; }", wanted)
    page.wait_for_function("id => document.activeElement.id === id", arg=wanted)
    assert page.locator(f"#{wanted} .permalink").get_attribute("href") == f"#{wanted}"
    page.locator(".query img").last.scroll_into_view_if_needed()
    page.wait_for_function("[...document.querySelectorAll('.query img')].at(-1).naturalWidth > 0")


def test_keys_and_buttons_lead_through_the_queries_that_are_shown(gallery, opened):
    page = opened(GALLERY)
    page.locator("main select").nth(0).select_option("t2i")
    shown = [one for one in gallery["queries"] if one["direction"] == "t2i"]
    expected = ids(shown)
    wait_for(page, shown)
    page.locator("h1").click()
    for key, place in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == expected[place]
        assert page.url.endswith(f"#{expected[place]}")
        assert page.locator(f"#{expected[place]}").evaluate("one => one.getBoundingClientRect().top") < 120
    page.get_by_role("button", name="Next").click()
    assert page.evaluate("document.activeElement.id") == expected[2]
    page.keyboard.press("/")
    page.keyboard.type("jk")
    assert page.locator("main input[type=search]").input_value() == "jk"
