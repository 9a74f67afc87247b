"""Tables and figures of made-up numbers for pages, and a browser to open a built site with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fivesentences.corpus import Corpus
from fivesentences.reproduction.evaluation.disagreements import FORMAT, find_disagreements
from fivesentences.reproduction.evaluation.tidy import write_tidy
from fivesentences.reproduction.paper.figures import drawing as figures
from fivesentences.reproduction.paper.figures.drawing import Drawing
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.storage import write_json

if TYPE_CHECKING:
    from playwright.sync_api import Page


def disagreements_of(corpus: Corpus, runs: Sequence[str], k: int = 3) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Queries on which some made-up models disagree, and the made-up phi by which they do."""
    draw = np.random.default_rng(6)
    own = (corpus.image_of_caption[:, None] == np.arange(corpus.n_images)[None, :]).astype(float)
    phis = {phi: (draw.gamma(0.5, 1.0, own.shape) + own).astype(np.float32) for phi in ("cider", "spice")}
    similarities = {name: draw.normal(size=own.T.shape) + own.T for name in runs}
    found = find_disagreements(corpus, similarities, phis, k=k, queries=2, at_random=3, contrasts=[list(runs[:2])])
    return found | {"format": FORMAT}, phis


def write_stub(stem: Path, title: str, caption: str, drawing: Drawing, formats: object, **look: float) -> None:
    """The files of a figure with an empty picture, in no time."""
    Path(f"{stem}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"/>')
    Path(f"{stem}.pdf").touch()
    drawing.data.to_csv(f"{stem}.csv", index=False)
    write_json(Path(f"{stem}.json"), {"title": title, "caption": caption, "notes": list(drawing.notes)})


@pytest.fixture(scope="session")
def written(everything, tmp_path_factory) -> Path:
    """A folder with all tables of the tiny scale, and figures without pictures; not to be changed."""
    folder = tmp_path_factory.mktemp("written")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "write_drawing", write_stub)
        for name in everything.plan.exhibits:
            (folder / name).parent.mkdir(exist_ok=True)
            everything.write(name, folder / name)
    return folder


@pytest.fixture(scope="session")
def files_of_runs(everything, results_of_runs) -> dict[str, list[Path]]:
    """The files that the page of runs is made from."""
    plan = everything.plan
    for name, exhibit in plan.exhibits.items():
        if exhibit.reads.startswith("subspace"):
            everything.numbers(name)
    files = plan.report.numbers_of_runs(plan.scale.scale)
    write_tidy(results_of_runs({**plan.runs, **plan.ensembles}.values()), files["tidy"][0])
    return files


@pytest.fixture(scope="session")
def site(everything) -> Site:
    """The site of the tiny scale."""
    return Site.of(everything.plan.report.site(everything.plan.scale.scale))


@pytest.fixture(scope="session")
def site_folder() -> Path:
    """The folder of a built site, which FIVESENTENCES_SITE names."""
    return Path(os.environ["FIVESENTENCES_SITE"]).resolve()


@pytest.fixture
def opened(browser, site_folder) -> Iterator[Callable[..., Page]]:
    """Opens a page of the site: ``opened("index.html", width=390)``; further settings are those of a context."""
    contexts = []

    def page_of(path: str, width: int = 1400, height: int = 900, **settings: object) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.goto((site_folder / path).as_uri())
        return page

    yield page_of
    for context in contexts:
        context.close()
