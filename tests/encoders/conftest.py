"""Tiny models of the real classes with random weights, saved as their libraries save them, and photographs."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

SIZE, DIM, TOKENS = 16, 12, 10  # pixels, numbers of a vector, tokens of a caption
WORDS = ["dog", "cat", "boat", "tree", "house", "ball", "river", "girl", "boy", "horse", "red", "blue", "runs", "sits"]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be fetched, whatever a library would like to look up."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """Small networks on several threads mostly wait, above all where tests share the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven photographs of different sizes."""
    folder = tmp_path_factory.mktemp("photographs")
    rng = np.random.default_rng(0)
    for number in range(7):
        pixels = rng.integers(0, 256, (20 + 3 * number, 31 - 2 * number, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder


@pytest.fixture(scope="session")
def captions() -> list[str]:
    """Three captions of each of them."""
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice(WORDS, int(rng.integers(1, 3)))) for _ in range(21)]


@pytest.fixture(scope="session")
def pictures(photographs: Path) -> list[Image.Image]:
    return [Image.open(photographs / f"{number}.png").convert("RGB") for number in range(7)]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, captions: list[str]) -> Path:
    """An empty folder to work in, with the captions and the names of their images."""
    monkeypatch.chdir(tmp_path)
    Path("captions.txt").write_text("".join(f"{caption}\n" for caption in captions))
    Path("images.txt").write_text("".join(f"{number}.png\n" for number in range(7)))
    return tmp_path


def _letters() -> dict[str, int]:
    vocabulary = {"<|startoftext|>": 0, "<|endoftext|>": 1}
    for sign in string.ascii_lowercase:
        vocabulary[sign] = len(vocabulary)
        vocabulary[f"{sign}</w>"] = len(vocabulary)
    return vocabulary


def _seeded(make: Callable[[], object]) -> object:
    import torch

    torch.manual_seed(0)
    model = make()
    with torch.no_grad():  # larger than usual, so that captions and images differ visibly
        for parameter in model.parameters():  # type: ignore[attr-defined]
            if parameter.ndim > 1:
                parameter.normal_(0, 0.3)
    return model.eval()  # type: ignore[attr-defined]


TEXT = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
        "max_position_embeddings": TOKENS, "projection_dim": DIM}  # fmt: skip
VISION = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
          "image_size": SIZE, "patch_size": 4, "projection_dim": DIM}  # fmt: skip


def write_clip(folder: Path) -> Path:
    """Write a CLIP of transformers."""
    transformers = pytest.importorskip("transformers")
    letters = _letters()
    text = {**TEXT, "vocab_size": len(letters), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    config = transformers.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=DIM)
    _seeded(lambda: transformers.CLIPModel(config)).save_pretrained(folder)  # type: ignore[attr-defined]
    size = {"size": {"shortest_edge": SIZE}, "crop_size": {"height": SIZE, "width": SIZE}}
    transformers.CLIPProcessor(
        transformers.CLIPImageProcessor(**size),
        transformers.CLIPTokenizer(vocab=letters, merges=[], model_max_length=TOKENS),
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="session")
def sentencepiece_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spm = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("spm")
    (folder / "text.txt").write_text("\n".join(f"{one} {other}" for one in WORDS for other in WORDS))
    spm.SentencePieceTrainer.train(
        input=str(folder / "text.txt"), model_prefix=str(folder / "spiece"), vocab_size=60, pad_id=0, eos_id=1,
        unk_id=2, bos_id=-1, minloglevel=2, hard_vocab_limit=False,
    )  # fmt: skip
    return folder / "spiece.model"


@pytest.fixture(scope="session")
def siglip(tmp_path_factory: pytest.TempPathFactory, sentencepiece_model: Path) -> Path:
    """A SigLIP of transformers."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("siglip")
    config = transformers.SiglipConfig(
        text_config={**TEXT, "vocab_size": 60, "projection_size": 16}, vision_config=VISION
    )
    _seeded(lambda: transformers.SiglipModel(config)).save_pretrained(folder)  # type: ignore[attr-defined]
    tokenizer = transformers.SiglipTokenizer(str(sentencepiece_model), model_input_names=["input_ids"])
    transformers.SiglipProcessor(
        transformers.SiglipImageProcessor(size={"height": SIZE, "width": SIZE}), tokenizer
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def siglip2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SigLIP 2 of flexible resolution of transformers."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("siglip2")
    vocabulary = {"<pad>": 0, "<eos>": 1, "<bos>": 2, "<unk>": 3, "<mask>": 4, "▁": 5}
    vocabulary |= {sign: 6 + at for at, sign in enumerate(string.ascii_lowercase)}
    text = {**TEXT, "vocab_size": len(vocabulary), "projection_size": 16}
    vision = {**VISION, "num_patches": 16}
    config = transformers.Siglip2Config(text_config=text, vision_config=vision)
    _seeded(lambda: transformers.Siglip2Model(config)).save_pretrained(folder)  # type: ignore[attr-defined]
    tokenizer = transformers.Siglip2Tokenizer(
        vocab=vocabulary, merges=[], model_input_names=["input_ids"], padding_side="right"
    )
    images = transformers.Siglip2ImageProcessor(patch_size=4, max_num_patches=16)
    transformers.Siglip2Processor(images, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def blip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BLIP with the heads of retrieval."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("blip")
    vocabulary = {sign: at for at, sign in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    text = {**TEXT, "vocab_size": len(vocabulary), "encoder_hidden_size": 16, "pad_token_id": 0, "bos_token_id": 2,
            "sep_token_id": 3, "max_position_embeddings": 40}  # fmt: skip
    config = transformers.BlipConfig(text_config=text, vision_config=VISION, image_text_hidden_size=DIM)
    _seeded(lambda: transformers.BlipForImageTextRetrieval(config)).save_pretrained(folder)  # type: ignore[attr-defined]
    transformers.BlipProcessor(
        transformers.BlipImageProcessor(size={"height": SIZE, "width": SIZE}),
        transformers.BertTokenizer(vocab=vocabulary),
    ).save_pretrained(folder)
    return folder


OPEN_CLIP = {
    "embed_dim": DIM,
    "vision_cfg": {"image_size": SIZE, "layers": 2, "width": 16, "head_width": 8, "patch_size": 4},
    "text_cfg": {"context_length": TOKENS, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2},
}


@pytest.fixture(scope="session")
def open_clip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of open_clip with its configuration."""
    open_clip = pytest.importorskip("open_clip")
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("open_clip")
    preprocessing = {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4], "interpolation": "bilinear",
                     "resize_mode": "squash"}  # fmt: skip
    content = {"model_cfg": OPEN_CLIP, "preprocess_cfg": preprocessing}
    (folder / "open_clip_config.json").write_text(json.dumps(content))
    model = _seeded(lambda: open_clip.CLIP(**OPEN_CLIP))
    state = {key: value.clone() for key, value in model.state_dict().items()}  # type: ignore[attr-defined]
    save_file(state, folder / "open_clip_model.safetensors")
    torch.save({"state_dict": state, "epoch": 3}, folder / "checkpoint.pth")
    return folder


@pytest.fixture
def tiny_architecture(tmp_path: Path) -> str:
    """The same as an architecture that open_clip knows by name."""
    open_clip = pytest.importorskip("open_clip")
    (tmp_path / "tiny-for-tests.json").write_text(json.dumps(OPEN_CLIP))
    open_clip.add_model_config(tmp_path / "tiny-for-tests.json")
    return "tiny-for-tests"


@pytest.fixture(scope="session")
def sentence_clip(tmp_path_factory: pytest.TempPathFactory, clip: Path) -> Path:
    """The same CLIP as sentence-transformers saves it."""
    library = pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("sentence_clip")
    library.SentenceTransformer(str(clip), device="cpu").save_pretrained(str(folder), create_model_card=False)
    return folder
