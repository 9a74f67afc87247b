"""SAM against released numbers, and under any rules against a slow version of its equations."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.losses import SemanticAdaptiveMargin
from fivesentences.losses.semantic_adaptive_margin import RULES, random_cycle, random_others, scaled, search_by_phi

PAPER, RELEASED = ({name: rule[variant] for name, rule in RULES.items()} | {"cap": cap}
                   for variant, cap in (("paper", None), ("released", 1.0)))  # fmt: skip
OURS = {"soft": "closest", "hard": "furthest", "random": "random"}  # released option -> what it does


def batch_of(size: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    similarity = torch.rand(size, size, generator=generator, dtype=torch.float64)
    phi = 2 * torch.rand(size, size, generator=generator, dtype=torch.float64) + 3 * torch.eye(size)
    return similarity, phi


def ruled(rules: dict, **settings) -> SemanticAdaptiveMargin:
    """SAM under any rules, each switched by itself; with fixed margins those of them that still have an effect."""
    switched = {"max_margin" if name == "cap" else name: rule for name, rule in rules.items()}
    if settings.get("margins") == "fixed":
        switched = {name: rule for name, rule in switched.items() if "margin" not in name}
    return SemanticAdaptiveMargin(**settings, **switched)


def value_and_gradient(loss, similarity, phi, indices=None):
    similarity = similarity.detach().clone().requires_grad_()
    value = loss(similarity, phi, indices)
    (gradient,) = torch.autograd.grad(value, similarity)
    return value.item(), gradient.numpy()


# --- released -----------------------------------------------------------------------------------------------


def released_cases(fixture):
    for key in fixture:
        if key.startswith("out64/") and key.endswith("/loss"):
            _, case, option, tau, _ = key.split("/")
            yield case, option, float(tau.removeprefix("tau")), f"{case}/{option}/{tau}"


def compare(fixture, out: str, dtype: torch.dtype, rules: dict = RELEASED) -> dict[str, tuple]:
    """Ours and theirs under every key of ``out`` (and of ``out/``, where alone indices and margins stand)."""
    pairs = {}
    for case, option, tau, name in released_cases(fixture):
        similarity = torch.as_tensor(fixture[f"in/{case}/S"], dtype=dtype)
        phi = torch.as_tensor(fixture[f"in/{case}/phi"], dtype=dtype).T  # there [image, caption]
        loss = ruled(rules, temperature=tau, negatives=OURS[option])
        ways = [f"out/{name}/index_{way}" for way in ("i2t", "t2i")]
        given = [torch.as_tensor(fixture[way]) for way in ways]
        chosen = given if option == "random" else loss.choose(similarity)
        pairs |= {way: (ours.numpy(), fixture[way]) for way, ours in zip(ways, chosen, strict=True)}
        margins = dict(zip(("margin_s", "margin_im"), loss.margins_of(phi, chosen), strict=True))
        value, gradient = value_and_gradient(loss, similarity, phi, chosen)
        ours = {"loss": value, "dloss_dS": gradient} | {key: margin.numpy() for key, margin in margins.items()}
        for key, array in ours.items():
            where = f"{'out' if key.startswith('margin') else out}/{name}/{key}"
            pairs[where] = (array, fixture[where])
    return pairs


@pytest.mark.parity
@pytest.mark.parametrize(
    "out, dtype, tolerance", [("out64", torch.float64, 1e-6), ("out", torch.float32, 1e-4)], ids=["float64", "float32"]
)
def test_released_variant_equals_every_released_number(parity, out, dtype, tolerance):
    # Margins are float32 inside the release, so its float64 values carry an error of 1e-7.
    fixture = parity("sam_loss")
    assert json.loads(str(fixture["hparams"]))["margin_cap"] == RELEASED["cap"]
    pairs = compare(fixture, out, dtype)
    for key, (ours, theirs) in pairs.items():
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=key)
    assert set(pairs) >= {key for key in fixture if key.startswith(f"{out}/")}


@pytest.mark.parity
@pytest.mark.parametrize("field", RELEASED)
def test_without_any_one_difference_the_released_numbers_do_not_come_out(parity, field):
    first_to_differ = {
        "positive": {"index_i2t", "index_t2i"},
        "t2i_search": {"index_t2i"},
        "ranking": {"index_t2i"},
        "margin_negative": {"margin_s", "margin_im"},
        "margin_of": {"loss", "dloss_dS"},
        "cap": {"margin_s", "margin_im"},
    }[field]
    rules = RELEASED | {field: PAPER[field]}
    pairs = compare(parity("sam_loss"), "out64", torch.float64, rules)
    differing = {
        key.rsplit("/", 1)[1] for key, (ours, theirs) in pairs.items() if not np.allclose(ours, theirs, atol=1e-6)
    }
    assert first_to_differ <= differing
    # What is computed before the difference enters is as released.
    stages = ["index_i2t", "index_t2i", "margin_s", "margin_im", "loss", "dloss_dS"]
    assert not differing & set(stages[: min(stages.index(key) for key in first_to_differ)])


# --- every rule ----------------------------------------------------------------------------------------------


def slow(similarity, negatives, rules: dict, margin, chosen=None) -> float:
    """The equations one triplet at a time, under the rules as docs/losses.md states them.

    Args:
        similarity: ``[images, captions]``.
        negatives: How they are chosen, unless ``chosen`` names them.
        rules: Where the paper and the released code differ.
        margin: The margin of a sample, given the sample and its negative.
        chosen: The negatives of i2t and t2i.
    """
    samples, positive = range(len(similarity)), similarity.diagonal()

    def search(scores, sample):
        order = sorted(samples, key=lambda item: (-scores[item] if negatives == "closest" else scores[item], item))
        return order[1] if rules["positive"] == "skipped" else next(item for item in order if item != sample)

    t2i = similarity.T if rules["t2i_search"] == "columns" else similarity
    if rules["ranking"] == "gap":  # of t2i, to the positive of the column; within one row or column nothing changes
        t2i = t2i - (positive[:, None] if rules["t2i_search"] == "columns" else positive)
    if chosen is None:
        chosen = [search(similarity[i], i) for i in samples], [search(t2i[i], i) for i in samples]
    margins = [[margin(i, of[i]) for i in samples] for of in chosen]
    if rules["margin_negative"] == "crossed":
        margins.reverse()
    total = 0.0
    for i in samples:
        i2t_pair = (i, chosen[0][i])
        t2i_pair = (chosen[1][i], i) if rules["t2i_search"] == "columns" else (i, chosen[1][i])
        whose = [pair[1] if rules["margin_of"] == "column" else i for pair in (i2t_pair, t2i_pair)]
        total += max(0.0, margins[0][whose[0]] + similarity[i2t_pair] - positive[i])
        total += max(0.0, margins[1][whose[1]] + similarity[t2i_pair] - positive[t2i_pair[1]])
    return total


@given(
    st.sampled_from(["closest", "furthest", "random"]),
    st.fixed_dictionaries(
        {name: st.sampled_from([*rule.values()]) for name, rule in RULES.items()}
        | {"cap": st.sampled_from([None, 0.3, 1.0])}
    ),
    st.sampled_from(["adaptive", "fixed"]),
    st.floats(0.5, 20),
    st.integers(2, 8),
    st.integers(0, 10**6),
)
def test_any_rules_and_margins_equal_the_equations_one_triplet_at_a_time(negatives, rules, margins, tau, size, seed):
    generator = torch.Generator().manual_seed(seed)
    similarity = torch.randint(17, (size, size), generator=generator).double() / 16  # often equal, and exact
    phi = 5 * torch.rand(size, size, generator=generator, dtype=torch.float64)  # margins may be negative
    settings = {"margin": 0.3} if margins == "fixed" else {"temperature": tau}
    loss = ruled(rules, negatives=negatives, weight=3.0, margins=margins, **settings)

    def margin(sample, negative):
        gained = (phi[sample, sample] - phi[negative, sample]).item() / tau
        return 0.3 if margins == "fixed" else gained if rules["cap"] is None else min(gained, rules["cap"])

    torch.manual_seed(seed)
    value = loss(similarity, phi).item()
    torch.manual_seed(seed)
    drawn = [indices.tolist() for indices in loss.choose(similarity)] if negatives == "random" else None
    assert value == pytest.approx(3 * slow(similarity.numpy(), negatives, rules, margin, drawn), abs=1e-12)
    others = random_others(similarity), random_others(similarity)
    expected = slow(similarity.numpy(), negatives, rules, margin, [indices.tolist() for indices in others])
    assert loss(similarity, phi, others).item() == pytest.approx(3 * expected, abs=1e-12)
    if margins == "fixed":
        assert loss(similarity, indices=others).item() == pytest.approx(3 * expected, abs=1e-12)


def test_rules_and_the_largest_margin_follow_from_a_variant_and_what_is_switched():
    for variant, rules in (("paper", PAPER), ("released", RELEASED)):
        loss = SemanticAdaptiveMargin(variant=variant, t2i_search="rows")
        assert {name: loss.rule(name) for name in RULES} | {"cap": loss.largest_margin} == rules | {
            "t2i_search": "rows"
        }
    assert SemanticAdaptiveMargin(variant="released", max_margin=0.3).largest_margin == 0.3


@pytest.mark.parametrize(
    "draw", [lambda: random_others(torch.zeros(6, 6)), lambda: random_cycle(6, torch.default_generator)]
)
def test_drawn_others_follow_the_seed_and_are_uniform(draw):
    torch.manual_seed(1)
    drawn = torch.stack([draw() for _ in range(3000)])  # [draws, samples]
    share = torch.stack([(drawn == other).double().mean(dim=0) for other in range(6)])  # [others, samples]
    assert (share.diagonal() == 0).all()
    np.testing.assert_allclose(share[~torch.eye(6, dtype=torch.bool)].numpy(), 0.2, atol=0.04)
    torch.manual_seed(1)
    assert torch.equal(draw(), drawn[0])


# --- controls -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [PAPER, RELEASED])
def test_averaged_margins_are_the_mean_margin_of_the_hinges_of_each_direction(rules):
    similarity, phi = batch_of(8)
    adaptive = ruled(rules, temperature=5.0, negatives="closest")
    chosen = adaptive.choose(similarity)
    taken: list[list[float]] = [[], []]  # of i2t and of t2i, hinge by hinge, in the loop's order

    def margin_of(sample, negative):
        value = (phi[sample, sample] - phi[negative, sample]).item() / 5
        return value if rules["cap"] is None else min(value, rules["cap"])

    by_sample = [[margin_of(i, of[i].item()) for i in range(8)] for of in chosen]
    if rules["margin_negative"] == "crossed":
        by_sample.reverse()
    for i in range(8):
        captions = chosen[0][i].item(), i if rules["t2i_search"] == "columns" else chosen[1][i].item()
        for direction, caption in enumerate(captions):
            taken[direction].append(by_sample[direction][caption if rules["margin_of"] == "column" else i])
    if rules == RELEASED:  # several hinges take the margin of one column
        assert np.mean(taken[0]) != pytest.approx(np.mean(by_sample[0]), abs=1e-6)
    asked = [np.mean(of) for of in taken]
    crossed = rules | {"margin_negative": "own", "margin_of": "query", "cap": None}
    calls = iter([asked[0]] * 8 + [asked[1]] * 8)
    expected = slow(similarity.numpy(), "closest", crossed, lambda *_: next(calls), [one.tolist() for one in chosen])
    loss = ruled(rules, temperature=5.0, negatives="closest", margins="averaged")
    assert loss(similarity, phi, chosen).item() == pytest.approx(expected, abs=1e-12)


def test_shuffled_margins_are_those_of_other_pairs_and_negatives_stay_the_same():
    similarity, phi = batch_of(8)
    torch.manual_seed(5)
    loss = SemanticAdaptiveMargin(temperature=10, negatives="random", margins="shuffled").build(seed=4)
    shuffled = loss(similarity, phi).item()
    place = random_cycle(8, torch.Generator().manual_seed(4))
    assert sorted(place.tolist()) == list(range(8))
    torch.manual_seed(5)  # the shuffling draws nothing from torch's own generator
    adaptive = SemanticAdaptiveMargin(temperature=10, negatives="random")
    chosen = adaptive.choose(similarity)
    expected = adaptive(similarity, phi[place][:, place], chosen).item()
    assert shuffled == pytest.approx(expected, abs=1e-12)
    assert shuffled != pytest.approx(adaptive(similarity, phi, chosen).item(), abs=1e-6)


# --- margins and negatives that no paper has ----------------------------------------------------------------


def test_ranked_phi_is_the_share_of_an_images_other_negatives_that_are_worse():
    phi = torch.randint(4, (7, 7), generator=torch.Generator().manual_seed(0)).double()  # often equal
    ranked = scaled(phi, "ranked")
    for caption, image in itertools.product(range(7), range(7)):
        others = [phi[other, image] for other in range(7) if other not in (caption, image)]
        below = sum(float(other < phi[caption, image]) + float(other == phi[caption, image]) / 2 for other in others)
        expected = 1.0 if caption == image else below / len(others)
        assert ranked[caption, image].item() == pytest.approx(expected, abs=1e-12)


def test_standardised_phi_has_mean_0_and_deviation_1_among_positives_and_among_negatives():
    _, phi = batch_of(9)
    values = scaled(phi, "standardised")
    own = torch.eye(9, dtype=torch.bool)
    for which in (own, ~own):
        assert values[which].mean().item() == pytest.approx(0, abs=1e-12)
        assert values[which].std(correction=0).item() == pytest.approx(1, abs=1e-12)
        assert torch.equal(values[which].argsort(), phi[which].argsort())
    assert scaled(torch.ones(3, 3), "standardised").abs().max() == 0
    assert scaled(phi, "raw") is phi


@pytest.mark.parametrize(("scaling", "mean"), [("ranked", 0.0), ("standardised", 0.3)])
def test_margins_are_made_from_scaled_phi(scaling, mean):
    similarity, phi = batch_of(8)
    options = {"margin": 0.3} if mean else {}
    loss = SemanticAdaptiveMargin(temperature=4.0, scaling=scaling, **options)
    chosen = random_others(similarity), random_others(similarity)
    values = scaled(phi, scaling)

    def margin(sample, negative):
        return mean + (values[sample, sample] - values[negative, sample]).item() / 4

    expected = slow(similarity.numpy(), "random", PAPER, margin, [indices.tolist() for indices in chosen])
    assert loss(similarity, phi, chosen).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("alike", [False, True])
def test_negatives_by_phi_are_those_whose_rank_by_similarity_is_furthest_from_their_rank_by_phi(alike):
    similarity, phi = batch_of(9)
    chosen = search_by_phi(similarity, phi, alike)
    for query in range(9):
        ranks = [sorted(range(9), key=lambda item, of=of: of[item]) for of in (similarity[query], phi[:, query])]
        lead = {item: ranks[0].index(item) - ranks[1].index(item) for item in range(9) if item != query}
        best = min(lead.values()) if alike else max(lead.values())
        assert chosen[query].item() == min(item for item, value in lead.items() if value == best)


@pytest.mark.parametrize("negatives", ["closest_unlike", "furthest_alike"])
def test_shuffled_negatives_by_phi_are_others_at_the_same_ranks_by_similarity(negatives):
    similarity, phi = batch_of(9)
    place = random_cycle(9, torch.Generator().manual_seed(4))
    loss = SemanticAdaptiveMargin(temperature=10, negatives=negatives, margins="shuffled").build(seed=4)
    chosen = SemanticAdaptiveMargin(temperature=10, negatives=negatives).choose(similarity, phi)
    shuffled = loss.choose(similarity, phi, place)
    for scores, true, control in zip((similarity, similarity.T), chosen, shuffled, strict=True):
        orders = [sorted(set(range(9)) - {q}, key=lambda item, q=q: -scores[q, item].item()) for q in range(9)]
        ranks = [orders[query].index(true[query].item()) for query in range(9)]
        assert control.tolist() == [orders[query][ranks[place[query]]] for query in range(9)]
    expected = SemanticAdaptiveMargin(temperature=10)(similarity, phi[place][:, place], shuffled).item()
    assert loss(similarity, phi).item() == pytest.approx(expected, abs=1e-12)
