"""SAM against released numbers, a slow version of the paper's equations, and each difference by itself."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fivesentences.errors import InputError
from fivesentences.losses import SamSpec, SemanticAdaptiveMargin
from fivesentences.losses.semantic_adaptive_margin import (
    PAPER,
    RELEASED,
    Chosen,
    Rules,
    adaptive_margin,
    random_cycle,
    random_others,
    rules_of,
    search_i2t,
    search_t2i,
)

OURS = {"soft": "closest", "hard": "furthest", "random": "random"}  # released option -> what it does


def batch_of(size: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    similarity = torch.rand(size, size, generator=generator, dtype=torch.float64)
    phi = 2 * torch.rand(size, size, generator=generator, dtype=torch.float64) + 3 * torch.eye(size)
    return similarity, phi


def value_and_gradient(loss, similarity, phi, indices=None):
    similarity = similarity.detach().clone().requires_grad_()
    value = loss(similarity, phi, indices)
    (gradient,) = torch.autograd.grad(value, similarity)
    return value.item(), gradient.numpy()


# --- released -----------------------------------------------------------------------------------------------


def released_cases(fixture):
    for key in fixture.files:
        if key.startswith("out64/") and key.endswith("/loss"):
            _, case, option, tau, _ = key.split("/")
            yield case, option, float(tau.removeprefix("tau")), f"{case}/{option}/{tau}"


def compare(fixture, out: str, dtype: torch.dtype, rules: Rules = RELEASED) -> dict[str, tuple]:
    """Ours and theirs under every key of ``out`` (and of ``out/``, where alone indices and margins stand)."""
    pairs = {}
    for case, option, tau, name in released_cases(fixture):
        similarity = torch.as_tensor(fixture[f"in/{case}/S"], dtype=dtype)
        phi = torch.as_tensor(fixture[f"in/{case}/phi"], dtype=dtype).T  # there [image, caption]
        loss = SemanticAdaptiveMargin(tau, OURS[option], rules)
        ways = [f"out/{name}/index_{way}" for way in ("i2t", "t2i")]
        given = [torch.as_tensor(fixture[way]) for way in ways]
        chosen = Chosen(*given) if option == "random" else loss.choose(similarity)
        pairs |= {way: (ours.numpy(), fixture[way]) for way, ours in zip(ways, chosen, strict=True)}
        margins = dict(zip(("margin_s", "margin_im"), loss.margins(phi, chosen), strict=True))
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
def test_released_variant_equals_every_released_number(parity_folder: Path, out, dtype, tolerance):
    # Margins are float32 inside the release, so its float64 values carry an error of 1e-7.
    with np.load(parity_folder / "sam_loss.npz", allow_pickle=False) as fixture:
        assert json.loads(str(fixture["hparams"]))["margin_cap"] == RELEASED.cap
        pairs = compare(fixture, out, dtype)
        for key, (ours, theirs) in pairs.items():
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=key)
        assert set(pairs) >= {key for key in fixture.files if key.startswith(f"{out}/")}


@pytest.mark.parity
@pytest.mark.parametrize("field", [field.name for field in fields(RELEASED)])
def test_without_any_one_difference_the_released_numbers_do_not_come_out(parity_folder: Path, field):
    first_to_differ = {
        "positive": {"index_i2t", "index_t2i"},
        "t2i_search": {"index_t2i"},
        "ranking": {"index_t2i"},
        "margin_negative": {"margin_s", "margin_im"},
        "margin_of": {"loss", "dloss_dS"},
        "cap": {"margin_s", "margin_im"},
    }[field]
    with np.load(parity_folder / "sam_loss.npz", allow_pickle=False) as fixture:
        pairs = compare(fixture, "out64", torch.float64, replace(RELEASED, **{field: getattr(PAPER, field)}))
    differing = {
        key.rsplit("/", 1)[1] for key, (ours, theirs) in pairs.items() if not np.allclose(ours, theirs, atol=1e-6)
    }
    assert first_to_differ <= differing
    # What is computed before the difference enters is as released.
    stages = ["index_i2t", "index_t2i", "margin_s", "margin_im", "loss", "dloss_dS"]
    assert not differing & set(stages[: min(stages.index(key) for key in first_to_differ)])


def test_released_margins_are_capped_at_one_unless_told_otherwise():
    assert SemanticAdaptiveMargin(10, variant="released").max_margin == 1.0
    assert SemanticAdaptiveMargin(10, variant="released", max_margin=0.3).max_margin == 0.3
    assert SemanticAdaptiveMargin(10, variant="paper").max_margin is None


# --- paper --------------------------------------------------------------------------------------------------


def slow_paper(similarity, phi, tau, negatives, chosen=None) -> float:
    """Equations of the paper, one triplet at a time; phi[c, i] is caption c against image i."""
    pick = {"closest": max, "furthest": min}.get(negatives)
    total, batch = 0.0, len(similarity)
    for p in range(batch):
        others = [j for j in range(batch) if j != p]
        m = chosen[0][p] if chosen else pick(others, key=lambda j: similarity[p, j])
        k = chosen[1][p] if chosen else pick(others, key=lambda i: similarity[i, p])
        total += max(0.0, (phi[p, p] - phi[m, p]) / tau + similarity[p, m] - similarity[p, p])
        total += max(0.0, (phi[p, p] - phi[k, p]) / tau + similarity[k, p] - similarity[p, p])
    return total


@given(st.sampled_from(["closest", "furthest"]), st.floats(0.5, 20), st.integers(2, 8), st.integers(0, 10**6))
def test_paper_variant_equals_its_equations_one_triplet_at_a_time(negatives, tau, size, seed):
    similarity, phi = batch_of(size, seed)
    loss = SemanticAdaptiveMargin(tau, negatives, "paper")(similarity, phi).item()
    assert loss == pytest.approx(slow_paper(similarity.numpy(), phi.numpy(), tau, negatives), abs=1e-12)


def test_given_indices_are_used_and_weight_multiplies():
    similarity, phi = batch_of(5)
    chosen = (torch.tensor([1, 2, 3, 4, 0]), torch.tensor([4, 3, 1, 0, 2]))
    expected = slow_paper(similarity.numpy(), phi.numpy(), 10, "given", [c.tolist() for c in chosen])
    loss = SemanticAdaptiveMargin(10, "random", "paper", weight=5.0)(similarity, phi, chosen)
    assert loss.item() == pytest.approx(5 * expected, abs=1e-12)


def test_random_negatives_follow_torchs_seed_and_are_uniform_over_the_others():
    loss, (similarity, phi) = SemanticAdaptiveMargin(10, "random", "paper"), batch_of(6)
    torch.manual_seed(1)
    first = loss(similarity, phi).item()
    torch.manual_seed(1)
    assert loss(similarity, phi).item() == first
    drawn = torch.stack([random_others(similarity) for _ in range(3000)])  # [draws, samples]
    share = torch.stack([(drawn == other).double().mean(dim=0) for other in range(6)])  # [others, samples]
    assert (share.diagonal() == 0).all()
    np.testing.assert_allclose(share[~torch.eye(6, dtype=torch.bool)].numpy(), 0.2, atol=0.04)


# --- each difference of losses.md 2.3 by itself -------------------------------------------------------------


def difference(field: str):
    """The paper's rules with one field as released."""
    return replace(PAPER, **{field: getattr(RELEASED, field)})


def test_difference_1_released_furthest_is_the_second_furthest():
    similarity = torch.tensor([[0.9, 0.3, 0.2, 0.1], [0.0, 0.9, 0.0, 0.0], [0.0, 0.0, 0.9, 0.0], [0.0, 0.0, 0.0, 0.9]])
    assert search_i2t(similarity, "furthest", PAPER)[0] == 3
    assert search_i2t(similarity, "furthest", difference("positive"))[0] == 2
    # While the positive tops its row, both agree on the closest.
    assert search_i2t(similarity, "closest", PAPER)[0] == search_i2t(similarity, "closest", RELEASED)[0] == 1


def test_difference_4_released_closest_may_be_the_positive_itself_and_then_has_no_gradient():
    similarity = torch.tensor([[0.5, 0.7, 0.1], [0.1, 0.9, 0.2], [0.1, 0.2, 0.9]], dtype=torch.float64)
    phi = torch.tensor([[3.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 3.0]], dtype=torch.float64)
    assert search_i2t(similarity, "closest", PAPER)[0] == 1
    assert search_i2t(similarity, "closest", difference("positive"))[0] == 0
    own = (torch.tensor([0, 1, 2]), torch.tensor([0, 1, 2]))
    value, gradient = value_and_gradient(SemanticAdaptiveMargin(10, "closest", "released"), similarity, phi, own)
    assert value == 0  # both margins are phi_ii - phi_ii
    assert (gradient == 0).all()


def test_difference_3_released_t2i_searches_rows_and_reads_them_as_columns():
    similarity = torch.tensor([[0.9, 0.8, 0.1], [0.2, 0.9, 0.3], [0.4, 0.5, 0.9]], dtype=torch.float64)
    # Down the columns: caption 0 -> image 2, caption 1 -> image 0, caption 2 -> image 1.
    assert search_t2i(similarity, "closest", PAPER).tolist() == [2, 0, 1]
    # Along the rows: image 0 -> caption 1, image 1 -> caption 2, image 2 -> caption 1; caption 0 gets none.
    rows = difference("t2i_search")
    assert search_t2i(similarity, "closest", rows).tolist() == [1, 2, 1]
    phi = 5 * torch.eye(3, dtype=torch.float64)
    _, gradient = value_and_gradient(SemanticAdaptiveMargin(5, "closest", rows), similarity, phi)
    _, columns = value_and_gradient(SemanticAdaptiveMargin(5, "closest", PAPER), similarity, phi)
    # i2t pushes (0,1), (1,2), (2,1); t2i of the rows pushes the same three, t2i of the columns (2,0), (0,1), (1,2).
    np.testing.assert_array_equal(gradient, [[-1, 2, 0], [0, -3, 2], [0, 2, -2]])
    np.testing.assert_array_equal(columns, [[-2, 2, 0], [0, -2, 2], [1, 1, -2]])


def test_difference_3_released_t2i_ranks_by_the_gap_to_the_columns_positive():
    similarity = torch.tensor([[0.9, 0.6, 0.5], [0.1, 0.9, 0.2], [0.1, 0.2, 0.3]])
    rows, gaps = difference("t2i_search"), replace(difference("t2i_search"), ranking="gap")
    assert search_t2i(similarity, "closest", rows)[0] == 1  # 0.6 > 0.5
    assert search_t2i(similarity, "closest", gaps)[0] == 2  # 0.6 - 0.9 < 0.5 - 0.3
    assert search_i2t(similarity, "closest", gaps)[0] == search_i2t(similarity, "closest", rows)[0] == 1


def test_difference_5_released_margin_is_that_of_the_column():
    similarity = torch.zeros(3, 3, dtype=torch.float64)
    phi = torch.tensor([[6.0, 0.0, 0.0], [1.0, 4.0, 0.0], [0.0, 1.0, 2.0]], dtype=torch.float64)
    chosen = (torch.tensor([1, 2, 0]), torch.tensor([1, 2, 0]))  # margins by sample: 0.5, 0.3, 0.2
    own, column = (SemanticAdaptiveMargin(10, "random", rules).forward for rules in (PAPER, difference("margin_of")))
    weight = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)  # look at sample 0 alone: the others are satisfied
    satisfied = similarity + torch.diag(10 * (1 - weight))
    assert own(satisfied, phi, chosen).item() == pytest.approx(0.5 + 0.5)
    # The i2t hinge at (image 0, caption 1) takes sample 1's margin; t2i hinges stand in their own column anyway.
    assert column(satisfied, phi, chosen).item() == pytest.approx(0.3 + 0.5)


def test_difference_6_released_margins_cross_the_directions():
    similarity = torch.zeros(3, 3, dtype=torch.float64) + torch.diag(torch.tensor([0.0, 10.0, 10.0]))
    phi = torch.tensor([[6.0, 0.0, 0.0], [1.0, 6.0, 0.0], [4.0, 0.0, 6.0]], dtype=torch.float64)
    chosen = (torch.tensor([1, 0, 0]), torch.tensor([2, 0, 0]))  # sample 0: caption 1 in i2t, image 2 in t2i
    for rules, expected in ((PAPER, (0.5, 0.2)), (difference("margin_negative"), (0.2, 0.5))):
        loss = SemanticAdaptiveMargin(10, "random", rules)
        margins = [margin[0].item() for margin in loss.margins(phi, chosen)]
        assert margins == pytest.approx(expected)
    # The i2t hinge alone tells them apart: give caption 1 a similarity of -0.3.
    similarity[0, 1], similarity[2, 0] = -0.3, -10
    assert SemanticAdaptiveMargin(10, "random", PAPER)(similarity, phi, chosen).item() == pytest.approx(0.2)
    crossed = SemanticAdaptiveMargin(10, "random", difference("margin_negative"))
    assert crossed(similarity, phi, chosen).item() == 0


def test_difference_7_released_margins_are_capped_from_above_only():
    phi = torch.tensor([[9.0, 4.0], [1.0, 2.0]])
    other = torch.tensor([1, 0])
    np.testing.assert_allclose(adaptive_margin(phi, other, 4.0, None).numpy(), [2.0, -0.5])
    np.testing.assert_allclose(adaptive_margin(phi, other, 4.0, 1.0).numpy(), [1.0, -0.5])


def test_rules_of_switches_single_differences_of_a_variant():
    assert rules_of("paper", t2i_search="rows") == difference("t2i_search")
    assert rules_of("released", cap=None) == replace(RELEASED, cap=None)
    assert SamSpec(ranking="gap", t2i_search="rows").build().rules == replace(difference("t2i_search"), ranking="gap")
    assert SamSpec(variant="released", max_margin=0.5).build().max_margin == 0.5


# --- controls -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("negatives", ["random", "closest", "furthest"])
def test_fixed_margins_are_the_same_negatives_with_one_margin(negatives):
    similarity, phi = batch_of(6)
    torch.manual_seed(3)
    chosen = SemanticAdaptiveMargin(10, negatives).choose(similarity)
    expected = sum(
        max(0.0, 0.3 + float(similarity[i, chosen.i2t[i]] - similarity[i, i]))
        + max(0.0, 0.3 + float(similarity[chosen.t2i[i], i] - similarity[i, i]))
        for i in range(6)
    )
    torch.manual_seed(3)
    loss = SemanticAdaptiveMargin(10, negatives, margins="fixed", margin=0.3, weight=2.0)
    assert loss(similarity).item() == pytest.approx(2 * expected, abs=1e-12)
    torch.manual_seed(3)
    assert loss(similarity, phi).item() == pytest.approx(2 * expected, abs=1e-12)  # phi has no part in it


def test_shuffled_margins_are_those_of_other_pairs_and_negatives_stay_the_same():
    similarity, phi = batch_of(8)
    torch.manual_seed(5)
    loss = SemanticAdaptiveMargin(10, "random", margins="shuffled", seed=4)
    shuffled = loss(similarity, phi).item()
    place = random_cycle(8, torch.Generator().manual_seed(4)).numpy()
    torch.manual_seed(5)  # the shuffling draws nothing from torch's own generator
    adaptive = SemanticAdaptiveMargin(10, "random")
    chosen = adaptive.choose(similarity)
    expected = adaptive(similarity, phi[place][:, place], chosen).item()
    assert shuffled == pytest.approx(expected, abs=1e-12)
    assert shuffled != pytest.approx(adaptive(similarity, phi, chosen).item(), abs=1e-6)


def test_shuffling_leaves_no_pair_in_its_place_and_is_uniform_over_the_others():
    generator = torch.Generator().manual_seed(0)
    drawn = torch.stack([random_cycle(5, generator) for _ in range(4000)])
    assert (drawn.sort(dim=1).values == torch.arange(5)).all()
    share = torch.stack([(drawn == other).double().mean(dim=0) for other in range(5)])
    assert (share.diagonal() == 0).all()
    np.testing.assert_allclose(share[~torch.eye(5, dtype=torch.bool)].numpy(), 0.25, atol=0.04)


def test_shuffling_goes_on_from_a_saved_state():
    similarity, phi = batch_of(8)

    def shuffled():
        return SemanticAdaptiveMargin(10, "closest", margins="shuffled", seed=1)

    loss = shuffled()
    loss(similarity, phi)
    state = {key: value.clone() for key, value in loss.state_dict().items()}
    following = [loss(similarity, phi).item() for _ in range(3)]
    assert len(set(following)) == 3
    resumed = shuffled()
    resumed.load_state_dict(state)
    assert [resumed(similarity, phi).item() for _ in range(3)] == following


def test_phi_of_another_batch_is_refused():
    with pytest.raises(InputError, match=r"phi \[3, 3\]"):
        SemanticAdaptiveMargin(10)(torch.zeros(4, 4), torch.zeros(3, 3))
    with pytest.raises(InputError, match="phi missing"):
        SemanticAdaptiveMargin(10)(torch.zeros(4, 4))
