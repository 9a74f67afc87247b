"""The page of the example in a browser, from disk: no error, accessible, and used by keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
AXE = Path(__file__).parents[1] / "paper" / "site" / "axe" / "axe.min.js"
LOOKS = [(1400, "light"), (1400, "dark"), (390, "light"), (390, "dark")]
EVIL = "<img src=x onerror=window.bad=1></script><script>window.bad=1</script>"


@pytest.fixture
def opened(browser, root):
    contexts = []

    def page_of(folder=root / "docs" / "look", anchor="", width=1400, scheme="light"):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto((Path(folder) / "index.html").as_uri() + anchor, wait_until="networkidle")
        return page

    yield page_of
    for context in contexts:
        context.close()


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_it_opens_from_disk_without_an_error_fits_and_is_accessible(opened, root, width, scheme):
    page = opened(width=width, scheme=scheme)
    assert page.said == []
    assert all(url.startswith(("data:", (root / "docs" / "look").as_uri())) for url in page.asked)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE.read_text(encoding="utf-8"))
    rules = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}"
    show = ".then(found => found.violations.map(one => [one.id, one.nodes.slice(0, 2).map(node => node.html)]))"
    assert page.evaluate(f"axe.run({rules}){show}") == []


def test_a_point_opens_its_query_and_keys_lead_on_and_back(opened):
    page = opened()
    cloud = page.locator("#cloud-charts svg").nth(1)
    cloud.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    title = page.locator("#dialog h3")
    first, address = title.inner_text(), page.url
    assert page.locator("#dialog .missed").count() >= 1 and "#t2i-" in address
    page.keyboard.press("k")
    assert title.inner_text() != first
    page.keyboard.press("j")
    assert title.inner_text() == first and page.url == address
    page.keyboard.press("Escape")
    assert not page.locator("#dialog").is_visible() and "#" not in page.url


def test_an_address_opens_a_query(opened):
    page = opened(anchor="#t2i-298")
    assert "A pet is by a settee" in page.locator("#dialog h3").inner_text()
    assert "15.5" in page.locator("#dialog .answer").first.inner_text()


def test_the_gallery_is_searched_and_filtered(opened):
    page = opened()
    page.select_option("#kind", "all")
    page.keyboard.press("Escape")
    page.locator("#content").focus()
    page.keyboard.press("/")
    page.keyboard.type("guitar desert")
    page.wait_for_timeout(400)
    number = int(page.locator("#said").inner_text().split()[0].replace(",", ""))
    assert 0 < number < 200
    page.select_option("#kind", "missed")
    assert page.locator("#cards .answer:first-child .hit.found").count() == 0
    page.locator("#reset").click()
    assert page.locator("#said").inner_text().startswith("1,200 of 1,200")
    before = page.locator("#cards .query").count()
    page.locator("#more").click()
    assert page.locator("#cards .query").count() > before
    page.locator("#content").focus()
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == page.locator("#cards .query").nth(1).get_attribute("id")


def test_captions_and_names_are_shown_as_text(opened, small):
    import numpy as np

    from fivesentences.pages.report import look

    captions = [EVIL] * 40
    look({EVIL: np.load("sims.npy")}, captions=captions, phis=np.arange(320.0).reshape(40, 8)).write("look")
    page = opened(folder=small / "look", anchor="#t2i-0")
    assert page.said == [] and page.evaluate("window.bad") is None
    assert EVIL in page.locator("#dialog h3").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_captions_of_systems_are_sorted_searched_and_shown_as_text(opened, tmp_path, width, scheme):
    import numpy as np

    from fivesentences.pages.captioned import Captioned, write_captions_page
    from fivesentences.semantics.captioning import CaptionScores

    each = {"a": np.linspace(0, 1, 40), "b": np.full(40, 0.5)}
    scores = {name: {"CIDEr": CaptionScores(float(some.mean()), some)} for name, some in each.items()}
    texts = {name: [f"{name} says {at} {EVIL}" for at in range(40)] for name in each}
    images, references = [str(at) for at in range(40)], [[f"people say {at}"] for at in range(40)]
    write_captions_page(Captioned(images, references, texts, scores, None, []), tmp_path / "look")
    page = opened(folder=tmp_path / "look", width=width, scheme=scheme)
    assert page.said == [] and page.evaluate("window.bad") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("details.menu").evaluate("one => one.open") == (width == 1400)
    if width == 1400:
        page.locator("[data-theme-switch]").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    first = page.locator("#cards .query h3").first
    assert first.text_content() == "Image 39" and page.locator("#said").inner_text().startswith("20 of 40")
    page.select_option("select[name=order]", "1-0")
    assert first.text_content() == "Image 0"
    page.locator("input[type=search]").fill("people 17")
    assert page.locator("#cards .query").count() == 1 and first.text_content() == "Image 17"
    page.evaluate(AXE.read_text(encoding="utf-8"))
    rules = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}"
    assert page.evaluate(f"axe.run({rules}).then(found => found.violations.map(one => one.id))") == []
