"""Every page of a site in a real browser: navigation, outline, sorting, looks, paper, keyboard, accessibility, filters.

With FIVESENTENCES_SITE, the folder of a built site such as ``results/paper/demo``, all its pages are opened instead:

    FIVESENTENCES_SITE=results/paper/demo uv run pytest -m browser tests/paper/site
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import pytest

from fivesentences.documents import read_json

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
BUILT = os.environ.get("FIVESENTENCES_SITE")
# Pages that are opened, by their paths in the site; a page of a new kind is added here, and to `site_folder`.
PAGES = ["index.html", "claims/claims.html", "five_sentences/index.html", "sched_sam/index.html"]
PAGES += ["metric_agreement/index.html", "gallery/index.html", "runs/index.html"]
OUTSIDE = ["five_sentences/table3.html"]  # stands alone, without the frame
if BUILT:
    found = sorted(str(path.relative_to(BUILT)) for path in Path(BUILT).rglob("*.html"))
    PAGES = [path for path in found if 'class="site"' in (Path(BUILT) / path).read_text("utf-8")]
    OUTSIDE = [path for path in found if path not in PAGES][:1]
every_page = pytest.mark.parametrize("path", PAGES)
pytestmark = pytest.mark.browser

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(23, 23, 22)"


def having(markup: str, otherwise: list[str]) -> list[str]:
    """Pages of a built site with this markup outside the menu; of the tests' own site those known to have it."""
    if not BUILT:
        return otherwise
    return [path for path in PAGES if markup in (Path(BUILT) / path).read_text(encoding="utf-8").partition("<main")[2]]


WITH_TABLES = having(
    '<table class="sortable">', ["five_sentences/index.html", "sched_sam/index.html", "runs/index.html"]
)
WITH_FOLDS = having("<details", [path for path in PAGES if path not in ("index.html", "runs/index.html")])


@pytest.mark.parametrize("path", [*PAGES, *OUTSIDE])
def test_a_page_opens_without_an_error_and_asks_for_nothing_but_itself(opened, site_folder, path):
    page = opened("index.html")
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site_folder / path).as_uri(), wait_until="networkidle")
    assert said == []
    beside = [url for url in asked if not url.startswith("data:")]
    assert beside[0] == (site_folder / path).as_uri()
    assert all(url.startswith(site_folder.as_uri()) for url in beside)  # the gallery may keep thumbnails beside it


@every_page
def test_navigation_leads_to_every_page_and_says_where_the_reader_is(opened, site_folder, path):
    page = opened(path)
    links = page.locator("nav[aria-label=Pages] a")
    assert links.count() >= 3
    assert page.locator("nav[aria-label=Pages] a[aria-current=page]").count() == 1
    here = page.locator("nav a[aria-current=page]").inner_text()
    other = next(one for one in links.all_inner_texts() if one != here)
    links.get_by_text(other, exact=True).click()
    assert page.locator("nav a[aria-current=page]").inner_text() == other
    page.go_back()
    assert page.locator("nav a[aria-current=page]").inner_text() == here


@every_page
def test_the_outline_names_the_headings_leads_to_them_and_marks_the_one_in_view(opened, path):
    page = opened(path)
    headings = page.locator("main :is(h2[id], h3[id]):not(.js-toc-ignore)")
    links = page.locator("nav.outline a.toc-link")
    assert links.count() == headings.count() >= 1
    for index in {0, links.count() // 2, links.count() - 1}:
        links.nth(index).click()
        heading = page.locator(f'[id="{(links.nth(index).get_attribute("href") or "").removeprefix("#")}"]')
        box = heading.bounding_box()
        at_the_end = page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
        assert box is not None and -1 <= box["y"] < (900 if at_the_end else 60)
    page.evaluate("scrollTo(0, 0)")
    links.nth(0).click()
    page.wait_for_function("document.querySelectorAll('nav.outline .is-active-link').length === 1")


@pytest.mark.parametrize("width", [1400, 390, 320])
@every_page
def test_no_page_is_wider_than_the_screen(opened, path, width):
    page = opened(path, width=width)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@every_page
def test_a_narrow_screen_begins_with_its_menu_folded_and_folds_it_after_a_choice(opened, path):
    page = opened(path, width=390)
    link = page.locator("nav[aria-label=Pages] a").first
    assert not link.is_visible()
    page.locator("details.menu > summary").click()
    assert link.is_visible()
    if page.locator("nav.outline a").count():
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
        other.goto((site_folder / "claims/claims.html").as_uri())
        if other.evaluate(BACKGROUND) == LIGHT:
            break
        other.wait_for_timeout(100)
    assert other.evaluate(BACKGROUND) == LIGHT and other.get_by_role("button", name="Dark page").is_visible()
    assert opened(path, color_scheme="light").evaluate(BACKGROUND) == LIGHT


@every_page
def test_on_paper_there_is_no_navigation_nothing_is_cut_and_what_was_folded_is_shown(opened, path):
    page = opened(path, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(BACKGROUND) == LIGHT
    assert not page.locator("header.side").is_visible()
    hidden = """[...document.querySelectorAll('main .scroll')].filter(one => one.scrollHeight > one.clientHeight + 1
        && getComputedStyle(one).overflowY !== 'visible').length"""
    assert page.evaluate(hidden) == 0
    assert all(one.is_visible() for one in page.locator("main details li").all()[:20])
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@every_page
def test_nothing_is_against_the_rules_of_accessibility(opened, path, scheme):
    page = opened(path, color_scheme=scheme)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate(AXE)
    found = page.evaluate(
        "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})"
        ".then(result => ({bad: result.violations.map(one => [one.id, one.nodes.slice(0, 3).map(node => node.html)]),"
        " good: result.passes.map(one => one.id)}))"
    )
    assert found["bad"] == []
    assert {"color-contrast", "document-title", "html-has-lang"} <= set(found["good"])  # they were really looked at


@every_page
def test_a_key_leads_past_the_navigation(opened, path):
    page = opened(path)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


@pytest.mark.parametrize("path", WITH_FOLDS)
def test_folded_text_opens_by_click_and_by_key(opened, path):
    page = opened(path)
    folded = page.locator("main details > summary").filter(visible=True)
    one = folded.first
    body = one.locator("xpath=..")
    one.click()
    assert body.evaluate("one => one.open") is True
    one.press("Enter")
    assert body.evaluate("one => one.open") is False


@every_page
def test_without_scripts_everything_is_there_and_nothing_pretends_to_work(opened, path):
    page = opened(path, java_script_enabled=False)
    assert page.locator("h1").is_visible() and page.locator("nav[aria-label=Pages] a").first.is_visible()
    assert not [one for one in page.locator(".needs-script, .theme").all() if one.is_visible()]


# --- tables -----------------------------------------------------------------------------------------------------------


def numbers_in(page, table: int, column: int) -> list[list[float]]:
    """Numbers of a column as they are sorted, by group."""
    texts = page.evaluate(
        """([table, column]) => [...document.querySelectorAll('table.sortable')[table].tBodies]
        .filter(body => !body.classList.contains('title'))
        .map(body => [...body.rows].map(row => row.cells[column].dataset.sort ?? ''))""",
        [table, column],
    )
    return [[float(text) if text else -math.inf for text in group] for group in texts]


def column_with_numbers(page, table: int) -> int:
    """The first column with different numbers within a group."""
    count = page.evaluate("table => document.querySelectorAll('table.sortable')[table].rows[0].cells.length", table)
    headings = page.locator("table.sortable").nth(table).locator("thead tr").last.locator("th").count()
    for column in range(max(count, headings)):
        if page.locator("table.sortable").nth(table).locator("thead tr").last.locator("th").nth(column).get_attribute(
            "data-sort-method"
        ) == "value" and any(len(set(group)) > 1 for group in numbers_in(page, table, column)):
            return column
    return -1


@pytest.mark.parametrize("path", WITH_TABLES)
def test_a_column_sorts_by_value_within_each_group_by_click_and_by_key(opened, path):
    page = opened(path)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    sorted_tables = 0
    for table in range(page.locator("table.sortable").count()):
        column = column_with_numbers(page, table)
        if column < 0:
            continue
        before = numbers_in(page, table, column)
        titles = page.locator("table.sortable").nth(table).locator("tbody.title").all_inner_texts()
        heading = page.locator("table.sortable").nth(table).locator("thead tr").last.locator("th").nth(column)
        heading.click()
        first = heading.get_attribute("aria-sort")
        after = numbers_in(page, table, column)
        assert after == [sorted(group, reverse=first == "descending") for group in before]
        heading.focus()
        page.keyboard.press("Enter")
        second = heading.get_attribute("aria-sort")
        assert {first, second} == {"ascending", "descending"}
        assert numbers_in(page, table, column) == [sorted(group, reverse=second == "descending") for group in before]
        assert page.locator("table.sortable").nth(table).locator("tbody.title").all_inner_texts() == titles
        assert page.locator("table.sortable").nth(table).locator("th[aria-sort]").count() == 1
        sorted_tables += 1
    assert sorted_tables >= 1


@pytest.mark.parametrize("path", WITH_TABLES)
@pytest.mark.parametrize("width", [1400, 390])
def test_headings_and_first_column_stay_in_view_where_a_table_scrolls(opened, path, width):
    page = opened(path, width=width, height=320)
    moved = 0
    for region in page.locator(".scroll.tall").all():
        room = region.evaluate("one => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight]")
        region.evaluate("one => one.scrollTo(one.scrollWidth, one.scrollHeight)")
        frame, head = region.bounding_box(), region.locator("thead").bounding_box()
        stub = region.locator("tbody:not(.title) tr").last.locator("th").first.bounding_box()
        assert frame and head and stub
        if room[1] > 5:
            assert abs(head["y"] - frame["y"]) < 4
            moved += 1
        if room[0] > 5:
            assert abs(stub["x"] - frame["x"]) < 3
            moved += 1
    assert moved


# --- claims -----------------------------------------------------------------------------------------------------------


def test_claims_are_filtered_by_verdict_and_by_words(opened, site_folder):
    claims = read_json(site_folder / "claims" / "claims.json", "make the claims again")["claims"]
    page = opened("claims/claims.html")
    shown = page.locator("article.claim").filter(visible=True)
    assert shown.count() == len(claims)
    page.locator("main select").select_option("not testable")
    page.wait_for_function("document.querySelector('article.claim[data-verdict=holds]')?.offsetParent == null")
    assert shown.count() == sum(one["verdict"] == "not testable" for one in claims)
    page.locator("main select").select_option("")
    page.locator("main input[type=search]").fill("hubs")
    page.wait_for_timeout(500)  # typing is awaited
    texts = shown.all_inner_texts()
    assert 0 < len(texts) < len(claims) and all(re.search("hubs", text, re.IGNORECASE) for text in texts)


# --- runs -------------------------------------------------------------------------------------------------------------


def test_runs_are_found_by_words(opened):
    page = opened("runs/index.html")
    lines = page.locator("main tbody tr").filter(visible=True)
    every, name = lines.count(), page.locator("main tbody tr[id]").first.get_attribute("id")
    for words in (name.upper(), " ".join(reversed(name.split("/")))):
        page.locator("main input[type=search]").fill(words)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        assert 1 <= lines.count() < every and lines.first.get_attribute("id") == name
    page.locator("main input[type=search]").fill("no such run")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert lines.count() == 0


# --- the gallery ------------------------------------------------------------------------------------------------------

PATH = "gallery/index.html"


@pytest.fixture
def gallery(site_folder):
    """What the page was made of."""
    if not (site_folder / PATH).is_file():
        pytest.skip("the built site has no gallery")
    return read_json(site_folder / "gallery" / "gallery.json")


def ids(queries) -> list[str]:
    return [f"{one['direction']}-{one['query']}" for one in queries]


def texts_of(query) -> list[str]:
    items = [item["caption"] for answer in query["answers"] for item in answer["items"]]
    return [query["image_id"] if query["direction"] == "i2t" else "", *query["captions"], *items]


def shown(page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('.query')].filter(one => one.offsetParent).map(one => one.id)")


def wait_for(page, expected: list[str]) -> None:
    """Filters apply soon, not at once."""
    counted = f"{len(expected)} of "
    page.wait_for_function("text => document.querySelector('[role=status]').textContent.startsWith(text)", arg=counted)
    assert shown(page) == expected


def test_queries_are_filtered_by_direction_reason_and_words_and_counted(gallery, opened):
    page, queries = opened(PATH), gallery["queries"]
    wait_for(page, ids(queries))
    direction, criterion = page.locator("main select").nth(0), page.locator("main select").nth(1)
    direction.select_option("t2i")
    wait_for(page, ids(one for one in queries if one["direction"] == "t2i"))
    assert not page.locator("#i2t").is_visible() and page.locator("#t2i").is_visible()
    number, chosen = next((at, one) for at, one in enumerate(gallery["criteria"]["t2i"]) if one["name"] == "contrast")
    criterion.select_option(chosen["key"])
    by_reason = [
        one
        for one in queries
        if one["direction"] == "t2i" and any(reason["criterion"] == number for reason in one["chosen"])
    ]
    wait_for(page, ids(by_reason))
    assert page.locator(".says").filter(visible=True).inner_text().endswith(chosen["says"])
    page.get_by_role("button", name="Show all").click()
    wait_for(page, ids(queries))
    word = max(queries[0]["captions"][0].split(), key=len)
    page.locator("main input[type=search]").fill(f" {word.upper()} ")
    found = [one for one in queries if any(word.lower() in text.lower() for text in texts_of(one))]
    wait_for(page, ids(found))
    page.locator("main input[type=search]").fill("missed NCS")  # words of the page, not of a caption
    wait_for(page, [])


def test_only_where_the_chosen_models_differ(gallery, opened):
    page, queries, k = opened(PATH), gallery["queries"], gallery["k"]
    page.get_by_label("Only where").check()
    wait_for(page, ids(one for one in queries if len({answer["rank"] <= k for answer in one["answers"]}) > 1))
    boxes = page.locator("fieldset input")
    for number in range(2, boxes.count()):
        boxes.nth(number).uncheck()
    two = [one for one in queries if len({answer["rank"] <= k for answer in one["answers"][:2]}) > 1]
    wait_for(page, ids(two))
    if two:
        article = page.locator(f"#{ids(two)[0]}")
        assert article.locator(".answer").filter(visible=True).count() == 2


def test_a_link_leads_to_its_query_whatever_is_filtered(gallery, opened, site_folder):
    wanted = ids(gallery["queries"])[-1]
    page = opened(f"{PATH}")
    page.goto(f"{(site_folder / PATH).as_uri()}#{wanted}")
    page.reload()
    page.wait_for_function("id => document.activeElement.id === id", arg=wanted)
    page.locator("main select").nth(0).select_option("i2t")
    wait_for(page, ids(one for one in gallery["queries"] if one["direction"] == "i2t"))
    page.evaluate("id => { location.hash = ''; location.hash = id; }", wanted)
    page.wait_for_function("id => document.activeElement.id === id", arg=wanted)
    assert page.locator(f"#{wanted}").is_visible()
    assert page.locator(f"#{wanted} .permalink").get_attribute("href") == f"#{wanted}"


def test_keys_and_buttons_lead_through_the_queries_that_are_shown(gallery, opened):
    page = opened(PATH)
    page.locator("main select").nth(0).select_option("t2i")
    expected = ids(one for one in gallery["queries"] if one["direction"] == "t2i")
    wait_for(page, expected)
    page.locator("h1").click()

    def at() -> str:
        return page.evaluate("document.activeElement.id")

    for key, place in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        assert at() == expected[place] and page.url.endswith(f"#{expected[place]}")
        assert page.locator(f"#{expected[place]}").evaluate("one => one.getBoundingClientRect().top") < 120
    page.get_by_role("button", name="Next").click()
    assert at() == expected[2]
    page.keyboard.press("/")
    page.keyboard.type("jk")
    assert page.locator("main input[type=search]").input_value() == "jk"


def test_thumbnails_are_there(gallery, opened):
    page = opened(PATH)
    page.locator(".query img").last.scroll_into_view_if_needed()
    page.wait_for_function("[...document.querySelectorAll('.query img')].at(-1).naturalWidth > 0")
