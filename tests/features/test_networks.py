"""timm networks: which weights are taken, what they are fed, and what comes out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import timm
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from fivesentences.corpus import Photographs, decode, load_flickr8k
from fivesentences.errors import InputError
from fivesentences.features import extract_features, networks
from fivesentences.features.files import read_source
from fivesentences.features.networks import Network
from fivesentences.features.recipe import Recipe
from fivesentences.storage import sha256_of
from random_networks import fresh

# ImageNet's dog breeds, Chihuahua to Mexican hairless, stand together in its list of classes.
DOGS = range(151, 269)


def untransformed(layout: str, module: torch.nn.Module, mean: float, std: float) -> Network:
    """A network around a module, without what timm knows about its images."""
    network = object.__new__(Network)
    network.recipe, network.on_accelerator, network.module = Recipe("any", layout, None), False, module
    network.images_at_once = 8
    network._mean, network._std = torch.full((3, 1, 1), mean), torch.full((3, 1, 1), std)
    return network


@pytest.mark.parametrize("name", ["test_resnet", "test_convnext", "test_vit"])
def test_features_are_what_timm_computes_from_its_own_transform(name, tmp_path):
    module, weights = fresh(name, tmp_path)
    photograph = Image.fromarray(np.random.default_rng(0).integers(0, 256, (240, 320, 3), dtype=np.uint8))
    settings = timm.data.resolve_model_data_config(module)
    with torch.inference_mode():
        pixels = timm.data.create_transform(**settings, is_training=False)(photograph)[None]
        maps = module.forward_features(pixels)
        pooled = module.forward_head(maps, pre_logits=True)
        logits = module(pixels)
    whole, grid = Network(Recipe(name, "global", weights)), Network(Recipe(name, "grid", weights))
    batch = whole.prepare(photograph)[None]
    assert batch.dtype == np.uint8
    ours = whole.describe(batch)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, pooled.numpy(), atol=1e-5)
    # What is stored is what the classifier reads: the classifier turns it into the network's own answer.
    with torch.inference_mode():
        np.testing.assert_allclose(module.get_classifier()(torch.from_numpy(ours)).numpy(), logits.numpy(), atol=1e-5)
    regions = grid.describe(batch)
    if maps.ndim == 4:
        height, width = maps.shape[2:]
        expected = np.stack([maps[0, :, y, x].numpy() for y in range(height) for x in range(width)])
    else:
        expected = maps[0, module.num_prefix_tokens :].numpy()
    np.testing.assert_allclose(regions[0], expected, atol=1e-5)


def test_a_network_with_channels_last_has_the_same_layout():
    class Last(torch.nn.Module):  # a real one (Swin) with random weights would cost seconds
        output_fmt = "NHWC"

        def forward_features(self, pixels: torch.Tensor) -> torch.Tensor:
            return torch.arange(2 * 3 * 5).reshape(1, 2, 3, 5)

    ours = untransformed("grid", Last(), 0.0, 1.0).describe(np.zeros((1, 3, 4, 4), np.uint8))
    np.testing.assert_array_equal(ours, np.arange(30).reshape(1, 6, 5).astype(np.float32))


@pytest.mark.slow
def test_vgg_features_are_fc7_after_its_relu_as_torchvision_computes_it():
    from torchvision.models import vgg11

    with torch.device("meta"):
        theirs = vgg11(weights=None)
    module = timm.create_model("vgg11", pretrained=False)  # vgg19 with fewer convolutions, the same head
    state = module.state_dict()
    for ours, other in (("pre_logits.fc1", "0"), ("pre_logits.fc2", "3"), ("head.fc", "6")):
        state[f"classifier.{other}.weight"] = state.pop(f"{ours}.weight").flatten(1)  # a convolution over the whole map
        state[f"classifier.{other}.bias"] = state.pop(f"{ours}.bias")
    theirs.load_state_dict(state, assign=True)
    theirs.eval()
    batch = np.random.default_rng(0).integers(0, 256, (1, 3, 224, 224), dtype=np.uint8)
    with torch.inference_mode():
        fc7 = theirs.classifier[:5](theirs.avgpool(theirs.features((torch.from_numpy(batch) - 128.0) / 64)).flatten(1))
    ours = untransformed("global", module.eval(), 128.0, 64.0).describe(batch)
    assert ours.shape == (1, 4096)
    np.testing.assert_allclose(ours, fc7.numpy(), atol=1e-4 * float(fc7.abs().max()))
    assert ours.min() == 0 < ours.max()


def test_pooled_and_grid_features_of_a_residual_network_are_torchvisions_pool5():
    from torchvision.models import resnet18

    torch.manual_seed(1)
    theirs = resnet18(weights=None).eval()
    module = timm.create_model("resnet18", pretrained=False).eval()  # resnet152 with fewer blocks
    module.load_state_dict(theirs.state_dict())  # the names are the same
    batch = np.random.default_rng(0).integers(0, 256, (2, 3, 224, 224), dtype=np.uint8)
    with torch.inference_mode():
        pixels = (torch.from_numpy(batch) - 128.0) / 64
        stages = (theirs.conv1, theirs.bn1, theirs.relu, theirs.maxpool)
        stages += (theirs.layer1, theirs.layer2, theirs.layer3, theirs.layer4)
        for stage in stages:
            pixels = stage(pixels)
        pool5 = theirs.avgpool(pixels).flatten(1).numpy()
    ours = untransformed("global", module, 128.0, 64.0).describe(batch)
    grid = untransformed("grid", module, 128.0, 64.0).describe(batch)
    np.testing.assert_allclose(ours, pool5, atol=1e-5 * float(np.abs(pool5).max()))
    assert grid.shape == (2, 49, 512)
    np.testing.assert_allclose(grid[1, 7 * 2 + 5], pixels[1, :, 2, 5].numpy(), atol=1e-4)


@pytest.mark.parametrize(("name", "registers"), [("vit_small_patch14_dinov2", 0), ("vit_small_patch14_reg4_dinov2", 4)])
def test_dinov2_gives_its_class_token_and_its_patch_tokens(name, registers):
    torch.manual_seed(2)
    module = timm.create_model(name, pretrained=False, img_size=(42, 56), depth=2).eval()
    batch = np.random.default_rng(0).integers(0, 256, (2, 3, 42, 56), dtype=np.uint8)
    with torch.inference_mode():
        # The last block's tokens after the final norm: x_norm_clstoken and x_norm_patchtokens of DINOv2's own code.
        patches, prefix = module.forward_intermediates(
            (torch.from_numpy(batch) - 128.0) / 64, indices=1, norm=True, return_prefix_tokens=True,
            intermediates_only=True, output_fmt="NLC",
        )[0]  # fmt: skip
    assert prefix.shape == (2, 1 + registers, 384)
    whole, grid = untransformed("global", module, 128.0, 64.0), untransformed("grid", module, 128.0, 64.0)
    np.testing.assert_allclose(whole.describe(batch), prefix[:, 0].numpy(), atol=1e-5)
    assert grid.describe(batch).shape == (2, 3 * 4, 384)
    np.testing.assert_allclose(grid.describe(batch), patches.numpy(), atol=1e-5)
    assert networks._pooling(module, "global") == "class token"


def test_ten_crops_are_torchvisions_and_their_features_are_averaged(tmp_path):
    from torchvision import transforms

    module, weights = fresh("test_resnet", tmp_path)
    settings = timm.data.resolve_model_data_config(module)
    side, pixels = settings["input_size"][1], np.random.default_rng(0).integers(0, 256, (240, 320, 3), dtype=np.uint8)
    photograph = Image.fromarray(pixels)
    network = Network(Recipe("test_resnet", "global", weights, crops="ten"))
    crops = network.prepare(photograph)
    assert crops.shape == (10, 3, side, side)
    scaled = transforms.Resize(
        int(side / settings["crop_pct"]), transforms.InterpolationMode(settings["interpolation"])
    )(photograph)
    theirs = transforms.TenCrop(side)(scaled)
    np.testing.assert_array_equal(crops, [np.asarray(crop).transpose(2, 0, 1) for crop in theirs])
    # Where they are, without torchvision.
    whole = np.asarray(scaled).transpose(2, 0, 1)
    np.testing.assert_array_equal(crops[0], whole[:, :side, :side])
    np.testing.assert_array_equal(crops[3], whole[:, -side:, -side:])
    np.testing.assert_array_equal(crops[5], whole[:, :side, ::-1][:, :, :side])
    # The centre crop is what a network gets otherwise.
    centre = Network(Recipe("test_resnet", "global", weights))
    np.testing.assert_array_equal(crops[4], centre.prepare(photograph))

    other = network.prepare(photograph.rotate(20))
    ours = network.describe(np.stack([crops, other]))
    with torch.inference_mode():
        mean, std = (torch.tensor(settings[name]).view(3, 1, 1) * 255 for name in ("mean", "std"))
        each = module.forward_head(module.forward_features((torch.from_numpy(other) - mean) / std), pre_logits=True)
    np.testing.assert_allclose(ours[1], each.mean(dim=0).numpy(), atol=1e-5)
    assert np.abs(each.std(dim=0).numpy()).max() > 1e-3
    np.testing.assert_allclose(ours, [network.describe(one[None])[0] for one in (crops, other)], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "layout", "settings", "sentence"),
    [
        ("vgg19", "grid", {"input_size": (3, 224, 224), "crop_pct": 0.875}, "different"),
        ("x", "global", {"input_size": (3, 224, 224), "crop_pct": 1.0, "crop_mode": "squash"}, "squashes whole images"),
        ("x", "global", {"input_size": (3, 518, 518), "crop_pct": 1.0, "crop_mode": "center"}, "corners"),
    ],
)
def test_ten_crops_are_refused_where_there_are_none(name, layout, settings, sentence):
    with pytest.raises(InputError, match=sentence):
        networks._check_ten_crops(name, layout, settings)


@pytest.mark.slow
def test_workers_compute_the_same_bits_and_lower_precision_is_close_and_stated(archive, images, tmp_path):
    _, weights = fresh("test_resnet", tmp_path)
    arguments = (Photographs(archive), images.iloc[:9], "test_resnet", "global")
    extract_features(*arguments, tmp_path / "whole.npy", workers=0, weights=weights)
    extract_features(*arguments, tmp_path / "there.npy", workers=1, weights=weights)
    assert (tmp_path / "there.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
    extract_features(
        *arguments, tmp_path / "lower.npy", workers=0, weights=weights, precision="bfloat16", normalise=True
    )
    whole, lower = np.load(tmp_path / "whole.npy"), np.load(tmp_path / "lower.npy")
    np.testing.assert_allclose(np.linalg.norm(lower, axis=1), 1, rtol=1e-5)
    whole /= np.linalg.norm(whole, axis=1, keepdims=True)
    assert 0 < np.abs(lower - whole).max() < 0.02
    source = read_source(tmp_path / "lower.npy")
    assert (source["precision"], source["normalisation"]) == ("bfloat16", "each vector has length 1")
    assert source["weights"] == {"file_sha256": sha256_of(weights)}
    assert source["preprocessing"]["input_size"] == [3, 160, 160]


@pytest.mark.slow
def test_weights_must_fit_to_the_last_tensor(tmp_path):
    module, weights = fresh("test_resnet", tmp_path)
    loaded, _ = networks.load("test_resnet", weights)
    assert networks.digest(loaded) == networks.digest(module)
    state = load_file(weights)
    first, *others = sorted(state)
    for changed, sentence in (
        ({key: state[key] for key in others}, f"1 missing .'{first}'"),
        (state | {"extra": torch.zeros(1)}, "1 unknown"),
        (state | {first: torch.zeros(1, 2, 3)}, "1 of another shape"),
    ):
        save_file(changed, weights)
        with pytest.raises(InputError, match=sentence):
            networks.load("test_resnet", weights)


def test_files_that_are_no_weights_end_in_one_sentence(tmp_path):
    _, weights = fresh("test_resnet", tmp_path)
    for content in (weights.read_bytes()[:-10], b"\x80\x04pickle"):
        weights.write_bytes(content)
        with pytest.raises(InputError, match="safetensors"):
            networks.load("test_resnet", weights)
    with pytest.raises(InputError, match="no such file"):
        networks.load("test_resnet", tmp_path / "nowhere.safetensors")


def test_converted_weights_of_unknown_origin_are_refused(tmp_path):
    module, _ = fresh("test_resnet", tmp_path)
    for part in module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):  # what folding leaves behind
            torch.nn.init.normal_(part.bias)
    save_file(module.state_dict(), tmp_path / "folded.safetensors")
    with pytest.raises(InputError, match="normalisation"):
        networks.load("test_resnet", tmp_path / "folded.safetensors")


def test_a_failed_download_says_what_to_do(monkeypatch):
    def no_network(*_: object, **__: object) -> None:
        raise OSError("Name or service not known.\nA second line")

    monkeypatch.setattr(timm, "create_model", no_network)
    with pytest.raises(InputError, match=r"'resnet152' could not be loaded \(Name or .* not known\); connect.*\.$"):
        networks.load("resnet152", None)


@pytest.fixture(scope="module")
def flickr8k(mirror: Path) -> tuple[Photographs, Path, dict[str, str]]:
    """Photographs, the mirror's MobileNetV2, and what people wrote about each photograph."""
    table = load_flickr8k(mirror / "flickr8k" / "Flickr8k_text.zip").table
    captions = table.groupby("filename")["caption"].agg(" | ".join).str.lower().to_dict()
    photographs = Photographs(mirror / "flickr8k" / "Flickr8k_Dataset.zip")
    return photographs, mirror / "weights" / "mobilenetv2_100.safetensors", captions


@pytest.mark.data
def test_the_mirrors_network_sees_a_dog_where_people_wrote_of_one(flickr8k):
    photographs, weights, captions = flickr8k
    network = Network(Recipe("mobilenetv2_100", "global", weights))
    dogs = [name for name in captions if captions[name].count("dog") >= 5 and name in photographs][:24]
    others = [name for name in captions if "dog" not in captions[name] and name in photographs][:24]

    def share(names: list[str]) -> float:
        batch = np.stack([network.prepare(decode(photographs.read(name), name)) for name in names])
        with torch.inference_mode():
            top = network.module.get_classifier()(torch.from_numpy(network.describe(batch))).argmax(1)
        return float(np.mean([int(which) in DOGS for which in top]))

    assert share(dogs) > 0.7
    assert share(others) < 0.2


@pytest.mark.data
def test_the_mirrors_features_do_not_depend_on_batch_or_layout(flickr8k, tmp_path):
    photographs, weights, captions = flickr8k
    names = sorted(set(captions) & {Path(name).name for name in photographs.names()})[:20]
    images = pd.DataFrame({"image_id": names, "filename": names})

    def extracted(table: pd.DataFrame, layout: str, size: int) -> np.ndarray:
        out = tmp_path / f"{layout}-{size}.npy"
        arguments = (photographs, table, "mobilenetv2_100", layout, out)
        extract_features(*arguments, workers=0, weights=weights, chunk_size=size)
        return np.load(out)

    rows = extracted(images, "global", 20)
    np.testing.assert_allclose(rows, extracted(images, "global", 7), atol=1e-4)
    assert rows.shape == (20, 1280)
    assert (rows.std(axis=0) > 0).mean() > 0.9  # nearly every dimension tells photographs apart
    assert np.corrcoef(rows)[~np.eye(20, dtype=bool)].max() < 0.95

    # By hand: the photograph as it is in [-1, 1], timm's network, the mean of its map.
    module = timm.create_model("mobilenetv2_100", pad_type="same").eval()
    module.load_state_dict(load_file(weights))
    pixels = np.asarray(decode(photographs.read(names[3]), names[3]), dtype=np.float32)
    assert pixels.shape == (224, 224, 3)
    with torch.inference_mode():
        maps = module.forward_features(torch.from_numpy(pixels / 127.5 - 1).permute(2, 0, 1)[None])
    np.testing.assert_allclose(rows[3], maps.mean(dim=(2, 3))[0].numpy(), atol=1e-4)
    regions = extracted(images[:4], "grid", 64)
    assert regions.shape == (4, 49, 1280)
    assert regions.dtype == np.float16
    np.testing.assert_allclose(regions.astype(np.float32).mean(axis=1), rows[:4], atol=2e-3)
