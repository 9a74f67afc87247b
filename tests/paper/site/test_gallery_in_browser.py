"""The gallery in a real browser: filters, links to queries, keys, and which models are shown."""

from __future__ import annotations

import pytest

from fivesentences.documents import read_json

pytestmark = pytest.mark.browser
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
