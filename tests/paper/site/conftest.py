"""A site of made-up numbers with real pages, or a built one from FIVESENTENCES_SITE, and a browser to open it with."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from fivesentences.config import Scale, check, extended
from fivesentences.corpus import Corpus
from fivesentences.documents import read_yaml
from fivesentences.evaluation.disagreements import FORMAT, find_disagreements
from fivesentences.evaluation.tidy import HISTORY_COLUMNS as COLUMNS
from fivesentences.evaluation.tidy import write_table, write_tidy
from fivesentences.paper.claims.ledger import judge_claims
from fivesentences.paper.claims.writing import read_claims, write_claims
from fivesentences.paper.manifest import settings_of
from fivesentences.paper.site.examples import read_examples, write_examples
from fivesentences.paper.site.gallery import write_gallery
from fivesentences.paper.site.overview import write_overview
from fivesentences.paper.site.provenance import write_provenance
from fivesentences.paper.site.runs_page import write_runs_page
from fivesentences.paper.site.shell import Site
from fivesentences.paper.site.shown_runs import kinds_of, read_recorded_runs
from fivesentences.paper.site.study import write_study_page
from fivesentences.plan.pages import PageRules
from fivesentences.storage import write_json
from made_up_claims import is_sam, numbers_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DIGEST = "0123456789abcdef" * 4
BUILT = os.environ.get("FIVESENTENCES_SITE")


def epochs_of(plan, scale) -> pd.DataFrame:
    """Losses that fall and scores that rise; dev is scored after every second epoch and the last, which is kept."""
    frames = []
    for name in plan.trained_at(scale):
        spec = plan.all_runs[name]
        epoch = np.arange(1, spec.training.epochs + 1)
        scored = (epoch % 2 == 0) | (epoch == epoch[-1])
        frame = pd.DataFrame({"epoch": epoch, "learning_rate": 0.01, "loss": 3.0 / epoch + spec.seed})
        frame["dev_Rsum"] = np.where(scored, 100 + 10.0 * epoch, np.nan)
        frame["best"] = (epoch == epoch[-1]).astype(int)
        frames.append(frame.assign(run=name, device="cpu x86_64", torch="2.15.0"))
    return pd.concat(frames, ignore_index=True)[list(COLUMNS)]


def disagreements_of(corpus: Corpus, runs: Sequence[str], k: int = 3) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Queries on which some made-up models disagree, and the made-up phi by which they do."""
    draw = np.random.default_rng(6)
    own = (corpus.image_of_caption[:, None] == np.arange(corpus.n_images)[None, :]).astype(float)
    phis = {phi: (draw.gamma(0.5, 1.0, own.shape) + own).astype(np.float32) for phi in ("cider", "spice")}
    similarities = {name: draw.normal(size=own.T.shape) + own.T for name in runs}
    found = find_disagreements(corpus, similarities, phis, k=k, queries=2, at_random=3, contrasts=[list(runs[:2])])
    return found | {"format": FORMAT}, phis


@pytest.fixture(scope="session")
def recorded_files(everything, results_of_runs) -> dict[str, Any]:
    """The files that the page of runs is made from, and a manifest's times of the first training job."""
    plan, scale = everything.plan, everything.plan.scale.scale
    for name, exhibit in plan.exhibits.items():
        if exhibit.reads.startswith("subspace"):
            everything.numbers(name)
    files = PageRules(plan).show_runs(scale).inputs
    (tidy,), (histories,) = files["tidy"], files["histories"]
    runs = {**plan.runs, **plan.ensembles}
    write_tidy(results_of_runs(runs.values()), tidy)
    write_table(epochs_of(plan, scale), histories)
    first = next(iter(plan.jobs.values()))
    manifest = {"trained": {"train": {first.name: {"seconds": 30.0 * len(first.runs), "memory_mb": 700.0}}}}
    named = {name: files[name] for name in ("tidy", "histories", "subspaces", "subspace_histories")}
    return {**named, "manifest": manifest}


@pytest.fixture(scope="session")
def site(everything) -> Site:
    """The site of the tiny scale."""
    return Site.of(PageRules(everything.plan).site(everything.plan.scale.scale))


@pytest.fixture(scope="session")
def config() -> Path:
    """The folder of the repository's configuration."""
    return Path(__file__).parents[3] / "config"


@pytest.fixture(scope="session")
def printed(config) -> Scale:
    """The scale with the papers' own settings."""
    file = config / "paper.yaml"
    return check(Scale, extended(read_yaml(file), file), str(file))


@pytest.fixture(scope="session")
def manifest(everything) -> dict[str, Any]:
    """A made-up manifest of the tiny scale; not to be changed."""
    plan = everything.plan
    return {
        "git": {"revision": "ab" * 20, "changed": ["config/demo.yaml"]},
        "versions": {"fivesentences": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"},
        "hardware": {"processor": "Made-up CPU", "cores": 2, "memory_gb": 24, "gpu": None, "system": "Linux"},
        "seeds": {"scenes/vsepp/hardest": [0, 1, 2], "scenes/cvse/hardest": [0]},
        "settings": settings_of(plan.scale),
        "inputs": {str(plan.places.data / "flickr8k/Flickr8k_text.zip"): DIGEST, "config/studies/own.yaml": None},
        "made": {"results/corpus/scenes.parquet": DIGEST[::-1]},
        "weights": {},
        "numbers": {"results/evaluation/<b>tiny</b>.parquet": "f" * 64},
        "phi": {"results/semantics/scenes/test/cider.npy": {"tokenisation": "whitespace", "shape": [1000, 200]}},
        "seconds": {
            "train": {"jobs": 2, "seconds": 7560.0, "memory_mb": 812.4},
            "evaluate": {"jobs": 1, "seconds": 3.0},
        },
        "trained": {"train": {"scenes/vsepp/1": {"seconds": 7000.0, "memory_mb": 812.4}}},
    }


@pytest.fixture(scope="session")
def site_folder(everything, everything_written, studies, scale, planned, make_scale, tmp_path_factory, request) -> Path:
    """The folder of a site."""
    if BUILT:
        return Path(BUILT).resolve()
    folder = tmp_path_factory.mktemp("site") / "tiny"
    shutil.copytree(everything_written, folder)
    site = Site.of(PageRules(planned(scale, studies)).site("tiny"))
    plan = planned(make_scale())
    found = judge_claims(plan, "tiny", numbers_of(plan, lambda run: 40.0 if is_sam(run) else 0.0, wild=1))
    write_claims(found, plan.scale, site, folder / "claims" / "claims")
    claims = read_claims(folder / "claims" / "claims.json")
    for name, study in studies.items():
        if study.made_at(scale):
            write_study_page(site, scale, name, study, folder, claims["claims"])
    corpus: Corpus = everything.corpus
    photographs = everything.contexts["five_sentences/figure1"].photographs["scenes"]
    write_examples(corpus, photographs, folder / "examples" / "scenes.json")
    pictures = [read_examples(folder / "examples" / "scenes.json")]
    recorded = read_recorded_runs(**request.getfixturevalue("recorded_files"))
    write_runs_page(site, kinds_of(planned(scale), "tiny", recorded), recorded, "cider", folder)
    manifest, printed = request.getfixturevalue("manifest"), request.getfixturevalue("printed")
    for name, content in {"manifest": manifest, "headline": {}, "settings": manifest["settings"]}.items():
        write_json(folder / f"{name}.json", content)
    write_provenance(site, planned(scale), "tiny", manifest, printed, folder)
    gallery = planned(scale).gallery("tiny")
    assert gallery is not None
    queries = tmp_path_factory.mktemp("queries") / "found.json"
    write_json(queries, disagreements_of(corpus, gallery.runs)[0])
    write_gallery(site, scale, studies[gallery.study], queries, photographs, folder)
    trained = {"matching": 3, "categories": 1}
    write_overview(site, scale, studies, folder, corpora=[corpus], trained=trained, claims=claims, pictures=pictures)
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's chromium; a test that needs it is skipped where there is none."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("needs Debian's package chromium on PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


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
