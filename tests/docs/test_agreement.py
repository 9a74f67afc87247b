"""Agreement with people on Flickr8k: the table of docs/captioning.md is that of the published protocol."""

from __future__ import annotations

import runpy

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from fivesentences.corpus.flickr8k import load_flickr8k
from fivesentences.corpus.judgements import load_judgements
from fivesentences.semantics import prepare


def test_scores_of_experts_are_those_that_clipscores_paper_publishes(root):
    ours = pd.read_csv(root / "results/captioning/people.csv").set_index(["judge", "title"])["value"]
    published = pd.read_csv(root / "config/published/captioning_metrics.csv").query("paper == 'clipscore'")
    compared = 0
    for split, judge, most in (("Expert", "flickr8k_expert_each", 5e-4), ("CrowdFlower", "flickr8k_crowdflower", 0.01)):
        for row in published[published["split"] == split].to_dict("records"):
            if (judge, row["method"]) in ours:
                assert ours[judge, row["method"]] == pytest.approx(row["value"], abs=most), row["method"]
                compared += 1
    assert compared == 8


@pytest.mark.data
@pytest.mark.slow
def test_tau_is_scipys_of_every_judgement_and_its_pairs_score(root, mirror):
    text_zip = mirror / "flickr8k" / "Flickr8k_text.zip"
    tool = runpy.run_path(str(root / "docs/tools/agreement"))
    # ROUGE-L of the crowd's 47,830 pairs takes a minute.
    for judge, variant, metrics in (
        ("flickr8k_expert_each", "c", ("bleu1", "rouge_l")),
        ("flickr8k_crowdflower", "b", ("bleu1",)),
    ):
        found = tool["agreement"](text_zip, metrics, "whitespace", 0, [judge]).set_index("metric")
        corpus, judged = load_judgements(judge, text_zip, load_flickr8k(text_zip))
        pairs = judged.pairs if variant == "b" else judged.pairs[~judged.pairs["own"]]
        assert len(pairs) == found.loc["bleu1", "judgements"] == {"b": 47_830, "c": 3 * 5_664}[variant]
        for metric in metrics:  # without frequencies of documents, phi of a pair is its score
            scorer = prepare(metric, corpus.captions, corpus.image_of_caption)
            scores = scorer.pairs(pairs["caption"].to_numpy(), pairs["image"].to_numpy(), without_own=True)
            tau = kendalltau(np.round(scores, 12), pairs["human"], variant=variant).statistic
            assert found.loc[metric, "value"] == pytest.approx(tau, abs=1e-4)
