"""torchvision's detector: regions are among its own detections, and features are those of their boxes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.models.detection import fasterrcnn_resnet50_fpn_v2

from fivesentences.errors import InputError
from fivesentences.features.detectors import Detector, detect
from fivesentences.features.detectors import faster_rcnn as module
from fivesentences.features.detectors.faster_rcnn import FasterRCNN, FasterRCNNSettings
from fivesentences.storage import sha256_of

SMALL = FasterRCNNSettings(short=90, long=150, proposals=100)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights of the real class, with classes that differ from region to region."""
    torch.manual_seed(0)
    model = fasterrcnn_resnet50_fpn_v2(weights=None, weights_backbone=None)
    with torch.no_grad():
        model.roi_heads.box_predictor.cls_score.weight *= 3
        model.roi_heads.box_predictor.bbox_pred.weight *= 0.3
    path = tmp_path_factory.mktemp("weights") / "weights.pth"
    torch.save(model.state_dict(), path)
    return path


@pytest.fixture(scope="module")
def detector(weights: Path) -> FasterRCNN:
    return FasterRCNN(weights, SMALL)


@pytest.fixture(scope="module")
def image() -> Image.Image:
    random = np.random.default_rng(3)
    return Image.fromarray(random.integers(0, 256, (12, 16, 3), dtype=np.uint8)).resize((320, 230), Image.BICUBIC)


@pytest.mark.slow
def test_regions_are_among_torchvisions_own_detections(detector: Detector, image, weights):
    proposed = []
    with detector.model.rpn.register_forward_hook(lambda rpn, inputs, found: proposed.append(found)):
        ours = detect(image, detector)
    assert (len(ours), ours.features.shape) == (36, (36, 1024))
    assert len(set(ours.classes.tolist())) > 1
    # The library itself, returning every class of every proposal.
    theirs = fasterrcnn_resnet50_fpn_v2(
        weights=None,
        weights_backbone=None,
        min_size=SMALL.short,
        max_size=SMALL.long,
        rpn_post_nms_top_n_test=SMALL.proposals,
        box_score_thresh=-1.0,
        box_nms_thresh=1.0,
        box_detections_per_img=1_000_000,
    ).eval()
    theirs.load_state_dict(torch.load(weights, weights_only=True))
    inside: dict[str, object] = {}

    def keep(heads, inputs, _):
        inside.update(maps=inputs[0], sizes=inputs[2])

    theirs.roi_heads.register_forward_hook(keep)
    # Of the same proposals: random weights score many alike, so that the last bit decides which are kept.
    theirs.rpn.register_forward_hook(lambda rpn, inputs, found: proposed[0])
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255
    with torch.inference_mode():
        (found,) = theirs([pixels])
        labels, boxes, scores = (found[key].numpy() for key in ("labels", "boxes", "scores"))
        for box, score, which in zip(ours.boxes, ours.scores, ours.classes, strict=True):
            rows = labels == which + 1
            distance = np.abs(boxes[rows] - box).max(axis=1) + np.abs(scores[rows] - score)
            assert distance.min() < 1e-3
        assert ours.scores[0] == pytest.approx(scores.max(), abs=1e-6)
        # The features, as torchvision's maintainers advise: pooled again from the returned boxes.
        height, width = inside["sizes"][0]
        scale = torch.tensor([width / image.width, height / image.height] * 2)
        pooled = theirs.roi_heads.box_roi_pool(inside["maps"], [torch.from_numpy(ours.boxes) * scale], inside["sizes"])
        features = theirs.roi_heads.box_head(pooled).numpy()
    np.testing.assert_allclose(ours.features, features, atol=1e-3 * np.abs(features).max())


def test_regions_are_ordered_and_inside_the_image(detector, image):
    ours = detect(image, detector)
    assert (np.diff(ours.scores) <= 0).all()
    assert (ours.boxes >= 0).all()
    assert (ours.boxes <= [image.width, image.height] * 2).all()
    assert (ours.boxes[:, 2:] > ours.boxes[:, :2]).all()
    assert (ours.features >= 0).all()  # behind a ReLU
    assert (ours.width, ours.height) == (320, 230)
    assert ours.attributes is None


@pytest.mark.slow
def test_downloaded_weights_are_checked_and_kept(weights, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "cache"))
    served = tmp_path / f"served-{sha256_of(weights)[:8]}.pth"
    shutil.copy(weights, served)
    path = module.download(served.as_uri())
    assert path.read_bytes() == weights.read_bytes()
    assert path.is_relative_to(tmp_path / "cache")
    served.unlink()
    assert module.download(served.as_uri()) == path  # from the cache
    other = tmp_path / "served-00000000.pth"
    other.write_bytes(b"something else")
    with pytest.raises(InputError, match=r"served-00000000\.pth"):
        module.download(other.as_uri())
    with pytest.raises(InputError, match=r"could not be downloaded .*; connect to the internet once, or give the file"):
        module.download((tmp_path / "nowhere-12345678.pth").as_uri())


def test_weights_of_another_network_are_refused(tmp_path):
    torch.save({"backbone.body.conv1.weight": torch.zeros(64, 3, 7, 7)}, tmp_path / "weights.pth")
    with pytest.raises(InputError, match=r"its 1 tensors are not .* of torchvision's fasterrcnn_resnet50_fpn_v2"):
        FasterRCNN(tmp_path / "weights.pth")


@pytest.mark.parametrize("size", [(1, 1), (300, 2)])
def test_odd_images_have_regions_inside_them(size, detector):
    regions = detect(Image.new("RGB", size, (9, 200, 30)), detector)
    assert len(regions) <= 36
    assert (regions.boxes >= 0).all()
    assert (regions.boxes <= size * 2).all()
