"""Released weights are recognised: of 36 pairings of a checkpoint and a model, the 30 wrong ones are refused."""

from __future__ import annotations

import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.models import MODELS
from fivesentences.models.released_checkpoints import PARTS, import_checkpoint, read_checkpoint

FIXTURES = {name: name for name in ("vsepp", "cvse", "sgr", "saf")} | {"scan": "scan_bigru", "vsrn": "vsrn_f30k"}
TITLES = {name: kind.title for name, kind in MODELS.items()}


def write_checkpoint(path, weights, parts, one: bool, settings=None):
    """Weights as a released code saves them, as a list of parts or as one dictionary."""
    of_part = [
        {key.removeprefix(f"{part}."): value for key, value in weights.items() if key.startswith(f"{part}.")}
        for part in parts
    ]
    torch.save({"model": weights if one else of_part} | ({} if settings is None else {"opt": settings}), path)


@pytest.mark.parity
@pytest.mark.parametrize("one", [False, True], ids=["list of parts", "one dictionary"])
@pytest.mark.parametrize("real", FIXTURES)
def test_released_weights_are_taken_for_their_own_model_alone(released_of, tmp_path, real, one):
    file = tmp_path / "m.pth.tar"
    write_checkpoint(file, released_of(FIXTURES[real]).weights(), PARTS[real], one)
    for asked in MODELS:
        if asked == real:
            assert read_checkpoint(file, asked).weights
            continue
        with pytest.raises(InputError) as error:
            import_checkpoint(file, tmp_path / "out", asked)
        assert f"look like those of {TITLES[real]} (" in str(error.value)
        assert f"not of {TITLES[asked]}" in str(error.value) and f'pass name="{real}"' in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parity
def test_the_command_line_tells_scan_from_vsepp_where_the_names_are_the_same(released_of, tmp_path):
    file, weights = tmp_path / "m.pth.tar", released_of("vsepp").weights()
    for settings, real, wrong in (
        ({"cross_attn": "t2i", "agg_func": "LogSumExp"}, "scan", "vsepp"),
        ({"measure": "cosine"}, "vsepp", "scan"),
    ):
        write_checkpoint(file, weights, PARTS["vsepp"], False, settings)
        assert import_checkpoint(file, tmp_path / real, real).spec.name == real
        with pytest.raises(InputError, match=r"the option (cross_attn|measure) of its training"):
            import_checkpoint(file, tmp_path / "out", wrong, {"bidirectional": False} if wrong == "scan" else {})


@pytest.mark.parity
def test_names_alone_mean_vsepp_unless_the_caller_says_that_captions_are_read_in_one_direction(released_of, tmp_path):
    file = tmp_path / "m.pth.tar"
    write_checkpoint(file, released_of("vsepp").weights(), PARTS["vsepp"], False, {"data_name": "f30k"})
    with pytest.raises(InputError, match=r"no weight is of another model.*'bidirectional': False"):
        import_checkpoint(file, tmp_path / "out", "scan")
    assert not import_checkpoint(file, tmp_path / "out", "scan", {"bidirectional": False}).spec.bidirectional


@pytest.mark.parity
@pytest.mark.parametrize("real", FIXTURES)
def test_weights_that_are_not_finite_are_refused_by_name_and_number(released_of, tmp_path, real):
    file, weights = tmp_path / "m.pth.tar", released_of(FIXTURES[real]).weights()
    weights["img_enc.fc.weight"] = weights["img_enc.fc.weight"].clone()
    weights["img_enc.fc.weight"].view(-1)[:3] = torch.tensor([float("nan"), float("inf"), float("-inf")])
    numbers = weights["img_enc.fc.weight"].numel()
    write_checkpoint(file, weights, PARTS[real], False)
    with pytest.raises(InputError, match=rf"m\.pth\.tar: img_enc\.fc\.weight holds 3 NaN or inf among {numbers:,} "):
        import_checkpoint(file, tmp_path / "out", real)
