"""Claims of how metrics order models, by made-up models whose order is known."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from pydantic import ValidationError

from fivesentences.metrics.model_orders import agreements, mean_over
from fivesentences.reproduction.paper.claims.ledger import write_ledger
from fivesentences.reproduction.paper.claims.orders import write_claims_of_orders
from fivesentences.reproduction.paper.claims.writing import read_claims
from fivesentences.reproduction.study.claims import Claims, OrdersTest
from fivesentences.reproduction.study.study import PaperClaims

MODELS, IMAGES = 40, 200


def stated(name: str, **test: Any) -> dict[str, Any]:
    return {"name": name, "claim": name, "where": "here", "test": test}


def test_a_metric_that_follows_people_beats_noise_and_the_ledger_shows_where(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    worth, images = rng.normal(size=(MODELS, 1)), rng.normal(size=(1, IMAGES))
    people, good, bad = (one + rng.normal(size=(MODELS, IMAGES)) + images for one in (worth, worth, 0.0))
    metrics = {"good": mean_over(good), "bad": mean_over(bad)}
    found = agreements(metrics, mean_over(people), IMAGES, np.arange(MODELS), draws=200)
    ranks = {"x": {"metric": "Rsum"}, "y": {"metric": "Nsum"}, "level": 0.5}
    claims = [
        stated("good_leads", kind="orders", a="good", b="bad", models="all"),
        stated("bad_leads", kind="orders", a="bad", b="good", models="all"),
        stated("good_follows", kind="orders", a="good", models="all"),
        stated("one_of_two", kind="orders", a=["good", "bad"], models=["all"]),
        stated("alike", kind="ranks", **ranks),
        stated("of_another_phi", kind="ranks", **(ranks | {"y": {"metric": "Nsum", "phi": "spice"}})),
        stated("of_runs", kind="level", loss="hardest", measure={"metric": "Rsum"}, level=20),
    ]
    study = SimpleNamespace(paper="A paper", names=[])
    paper = cast(PaperClaims, SimpleNamespace(name="p", study=study, claims=Claims(study="p", claims=claims)))
    about = {"scale": "people", "title": "Models", "page": "../../people/agreement.md"}
    means = {"Rsum kept": worth[:, 0], "Nsum kept": worth[:, 0] ** 3, "Nsum removed": rng.normal(size=MODELS)}
    write_claims_of_orders(tmp_path / "claims.json", about, [paper], {"all": found}, IMAGES, means)
    verdicts = {one["name"]: one["verdict"] for one in read_claims(tmp_path / "claims.json")["claims"]}
    assert verdicts == {
        "good_leads": "holds",
        "bad_leads": "fails",
        "good_follows": "holds",
        "one_of_two": "holds partly",
        "alike": "holds",
    }
    write_ledger([tmp_path / "claims.json"], [paper], tmp_path / "ledger")
    page = (tmp_path / "ledger" / "index.html").read_text(encoding="utf-8")
    assert page.count('href="../../people/agreement.md"') >= len(verdicts) and "people/claims/claims.html" not in page


def test_sides_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValidationError, match="b has 2 metrics and a 3"):
        OrdersTest(kind="orders", a=["a", "b", "c"], b=["a", "b"], models="all")
