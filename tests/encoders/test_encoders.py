"""The vectors of every library equal what the model itself says of images and captions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from edge_cases import limits
from fivesentences.encoders import EncoderSpec, load_encoder
from fivesentences.encoders.spec import parse_encoder
from fivesentences.errors import InputError
from fivesentences.storage import sha256_of


def cosines(encoder, pictures, captions):
    rows = [encoder.images([encoder.prepare(picture) for picture in pictures]), encoder.captions(captions)]
    left, right = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in rows)
    return left @ right.T


def loaded(name, **settings):
    return load_encoder(EncoderSpec(encoder=name, **settings))


def as_transformers_says(folder, kind, pictures, captions, **tokens):
    """Similarities by the library's own processor and forward pass."""
    import torch
    import transformers

    model = getattr(transformers, kind).from_pretrained(folder).eval()
    processor = transformers.AutoProcessor.from_pretrained(folder, backend="pil")
    batch = processor(images=pictures, text=captions, return_tensors="pt", **tokens)
    with torch.inference_mode():
        if kind == "BlipForImageTextRetrieval":
            return model(**batch, use_itm_head=False).itm_score.numpy()
        found = model(**batch).logits_per_image
        bias = model.logit_bias if hasattr(model, "logit_bias") else 0
        return ((found - bias) / model.logit_scale.exp()).numpy()


@pytest.mark.parametrize(
    ("model", "kind", "tokens"),
    [
        ("clip", "CLIPModel", {"padding": True, "truncation": True, "max_length": 10}),
        ("siglip", "SiglipModel", {"padding": "max_length", "truncation": True, "max_length": 10}),
        (
            "siglip2",
            "Siglip2Model",
            {"padding": "max_length", "truncation": True, "max_length": 10, "patch_size": 4, "max_num_patches": 16},
        ),
        ("blip", "BlipForImageTextRetrieval", {"padding": "max_length", "truncation": True, "max_length": 35}),
    ],
)
def test_models_of_transformers(request, model, kind, tokens, pictures, captions):
    folder = request.getfixturevalue(model)
    encoder = loaded(f"transformers:{folder}")
    wanted = as_transformers_says(folder, kind, pictures, captions, **tokens)
    found = cosines(encoder, pictures, captions)
    np.testing.assert_allclose(found, wanted, atol=2e-6)
    assert found.std() > 0.01  # or everything would be equal to everything
    facts = encoder.facts
    assert facts["weights_sha256"] == sha256_of(folder / "model.safetensors")
    assert facts["model_class"] == kind and facts["max_length"] == tokens["max_length"]
    assert facts["revision"] is None and json.dumps(facts)
    if model == "siglip2":
        np.testing.assert_array_equal(encoder.captions(["A DOG"]), encoder.captions(["a dog"]))


def as_open_clip_says(folder, pictures, captions):
    import open_clip
    import torch

    model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    tokens = open_clip.get_tokenizer(f"local-dir:{folder}")(captions)
    with torch.inference_mode():
        images, texts, _ = model.eval()(torch.stack([transform(picture) for picture in pictures]), tokens)
    return (images @ texts.T).numpy()


def test_a_model_of_open_clip(open_clip_folder, pictures, captions):
    encoder = loaded(f"open_clip:local-dir:{open_clip_folder}")
    found = cosines(encoder, pictures, captions)
    np.testing.assert_allclose(found, as_open_clip_says(open_clip_folder, pictures, captions), atol=2e-6)
    assert found.std() > 0.01
    assert encoder.facts["preprocessing"]["resize_mode"] == "squash"
    assert encoder.facts["weights_sha256"] == sha256_of(open_clip_folder / "open_clip_model.safetensors")


@pytest.mark.parametrize("file", ["open_clip_model.safetensors", "checkpoint.pth"])
def test_an_architecture_of_open_clip_with_a_local_checkpoint(open_clip_folder, tiny_architecture, captions, file):
    encoder = loaded(f"open_clip:{tiny_architecture}/{open_clip_folder / file}")
    wanted = loaded(f"open_clip:local-dir:{open_clip_folder}").captions(captions)
    np.testing.assert_array_equal(encoder.captions(captions), wanted)
    assert encoder.facts["weights"] == {file: sha256_of(open_clip_folder / file)}


def test_a_tag_of_open_clip_is_fetched_with_its_preprocessing(
    open_clip_folder, tiny_architecture, pictures, captions, tmp_path, monkeypatch
):
    from open_clip import pretrained

    content = json.loads((open_clip_folder / "open_clip_config.json").read_text())["preprocess_cfg"]
    url = (open_clip_folder / "open_clip_model.safetensors").as_uri()
    monkeypatch.setitem(pretrained._PRETRAINED, tiny_architecture, {"some_tag": {"url": url, **content}})
    monkeypatch.setenv("HOME", str(tmp_path))  # below which open_clip keeps what it fetched
    encoder = loaded(f"open_clip:{tiny_architecture}/some-tag")
    wanted = as_open_clip_says(open_clip_folder, pictures, captions)
    np.testing.assert_allclose(cosines(encoder, pictures, captions), wanted, atol=2e-6)
    assert encoder.facts["pretrained"] == "some-tag" and encoder.facts["preprocessing"]["resize_mode"] == "squash"
    assert encoder.facts["weights_sha256"] == sha256_of(open_clip_folder / "open_clip_model.safetensors")


def test_a_model_of_sentence_transformers(sentence_clip, clip, pictures, captions):
    encoder = loaded(f"sentence_transformers:{sentence_clip}")
    wanted = as_transformers_says(clip, "CLIPModel", pictures, captions, padding=True, truncation=True, max_length=10)
    np.testing.assert_allclose(cosines(encoder, pictures, captions), wanted, atol=2e-6)
    assert encoder.facts["weights_sha256"] == sha256_of(next(sentence_clip.rglob("model.safetensors")))


@pytest.mark.parametrize("model", ["clip", "siglip", "siglip2", "blip", "open_clip_folder", "sentence_clip"])
def test_a_batch_equals_one_by_one(request, model, pictures, captions):
    encoder = loaded(name_of(model, request.getfixturevalue(model)))
    prepared = [encoder.prepare(picture) for picture in pictures]
    single = np.concatenate([encoder.images([one]) for one in prepared])
    np.testing.assert_allclose(encoder.images(prepared), single, atol=1e-4)
    single = np.concatenate([encoder.captions([one]) for one in captions])
    np.testing.assert_allclose(encoder.captions(captions), single, atol=1e-4)


def name_of(model, folder):
    prefixes = {"open_clip_folder": "open_clip:local-dir:", "sentence_clip": "sentence_transformers:"}
    return f"{prefixes.get(model, 'transformers:')}{folder}"


LONG = "dog runs river boat house tree girl boy horse"


@pytest.mark.parametrize(
    ("model", "texts", "cut"),
    [
        ("clip", ["catsdogs", "catsdogsb", "a", LONG], 2),  # one token per letter, begin and end: 10, 11
        ("siglip2", ["catsdogs", "catsdogsxyzu", "a", LONG], 2),
        ("open_clip_folder", ["a " * 8, "a " * 9, "dog", "! " * 9, "!", LONG], 3),  # "!" is 0, like the padding
        ("sentence_clip", ["catsdogs", "catsdogsb", "a", LONG], 2),
        ("blip", ["dog " * 33, "dog " * 34, "dog"], 1),
    ],
)
def test_captions_that_are_cut_are_counted(request, model, texts, cut):
    encoder = loaded(name_of(model, request.getfixturevalue(model)))
    assert encoder.truncated(texts) == cut
    # What is cut is not seen: words behind the end change nothing, and before it they do.
    end = {"blip": "dog " * 33, "open_clip_folder": "a " * 8}.get(model, "catsdogs")
    if model in ("blip",):
        np.testing.assert_allclose(encoder.captions([end + "cat"]), encoder.captions([end + "boy"]), atol=1e-6)


def test_the_prompt_is_put_around_every_caption(clip):
    plain, prompted = loaded(f"transformers:{clip}"), loaded(f"transformers:{clip}", prompt="my {} q")
    np.testing.assert_array_equal(prompted.captions(["dog"]), plain.captions(["my dog q"]))
    assert prompted.truncated(["catsd"]) == 0 and prompted.truncated(["catsdo"]) == 1


@pytest.mark.parametrize("model", ["clip", "open_clip_folder", "sentence_clip"])
def test_fewer_tokens_may_be_read(request, model, captions):
    name = name_of(model, request.getfixturevalue(model))
    short, whole = loaded(name, max_length=4), loaded(name)
    # SimpleTokenizer and CLIPTokenizer keep the end of text, so that two letters are all that is read.
    np.testing.assert_allclose(short.captions(["d d d d d"]), whole.captions(["d d"]), atol=1e-5)
    assert short.truncated(["d d", "d d d"]) == 1
    with pytest.raises(InputError, match="max_length is 99"):
        loaded(name, max_length=99)


def test_mixed_precision_is_close_and_no_more_than_that(clip, pictures, captions):
    exact = cosines(loaded(f"transformers:{clip}"), pictures, captions)
    mixed = cosines(loaded(f"transformers:{clip}", precision="bfloat16"), pictures, captions)
    assert 0 < np.abs(mixed - exact).max() < 0.05


def test_weights_can_be_pinned(clip):
    name, found = f"transformers:{clip}", sha256_of(clip / "model.safetensors")
    assert loaded(name, sha256=found).facts["weights_sha256"] == found
    with pytest.raises(InputError, match=f"is {found}, not {'0' * 64}"):
        loaded(name, sha256="0" * 64)


# --- what is refused ---------------------------------------------------------------------------------------


def test_a_pickle_that_runs_something_is_not_loaded(clip, tmp_path, tiny_architecture):
    import torch

    folder, mark = tmp_path / "evil", tmp_path / "ran"
    shutil.copytree(clip, folder)
    (folder / "model.safetensors").unlink()

    class Evil:
        def __reduce__(self):
            return (Path.touch, (mark,))

    torch.save({"a": Evil(), "b": torch.zeros(10**6)}, folder / "pytorch_model.bin")
    for name in (f"transformers:{folder}", f"open_clip:{tiny_architecture}/{folder / 'pytorch_model.bin'}"):
        with pytest.raises(InputError, match="cannot be loaded"):
            loaded(name)
    assert not mark.exists()


def test_code_of_a_model_is_never_run(clip, sentence_clip, open_clip_folder, tmp_path):
    mark = tmp_path / "ran"
    code = f"from pathlib import Path\nPath({str(mark)!r}).touch()\nclass Evil: pass\n"
    ours = tmp_path / "transformers"
    shutil.copytree(clip, ours)
    (ours / "evil.py").write_text(code)
    config = json.loads((ours / "config.json").read_text())
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}}
    (ours / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="cannot be loaded"):
        loaded(f"transformers:{ours}")
    sentences = tmp_path / "sentences"
    shutil.copytree(sentence_clip, sentences)
    (sentences / "evil.py").write_text(code)
    modules = json.loads((sentences / "modules.json").read_text())
    modules[0]["type"] = "evil.Evil"
    (sentences / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(InputError, match="cannot be loaded"):
        loaded(f"sentence_transformers:{sentences}")
    theirs = tmp_path / "open_clip"
    shutil.copytree(open_clip_folder, theirs)
    content = json.loads((theirs / "open_clip_config.json").read_text())
    content["model_cfg"]["text_cfg"] |= {"hf_tokenizer_name": "x", "tokenizer_kwargs": {"trust_remote_code": True}}
    (theirs / "open_clip_config.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="trust_remote_code"):
        loaded(f"open_clip:local-dir:{theirs}")
    assert not mark.exists()


def test_weights_that_do_not_fill_the_model_are_refused(
    clip, sentence_clip, open_clip_folder, tiny_architecture, tmp_path
):
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "part"
    shutil.copytree(clip, folder)
    state = load_file(folder / "model.safetensors")
    del state["text_projection.weight"]
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"1 tensors are missing .*such as text_projection.weight"):
        loaded(f"transformers:{folder}")
    folder = tmp_path / "sentences"
    shutil.copytree(sentence_clip, folder)
    weights = next(folder.rglob("model.safetensors"))
    state = load_file(weights)
    del state["text_projection.weight"]
    save_file(state, weights, {"format": "pt"})
    with pytest.raises(InputError, match="fill"):
        loaded(f"sentence_transformers:{folder}")
    state = load_file(open_clip_folder / "open_clip_model.safetensors")
    del state["text_projection"]
    save_file(state, tmp_path / "part.safetensors")
    with pytest.raises(InputError, match="cannot be loaded"):
        loaded(f"open_clip:{tiny_architecture}/{tmp_path / 'part.safetensors'}")


MANY = 10**9
OF_TEXT, OF_OPEN_CLIP, PROCESSOR = "config.json text_config", "open_clip_config.json model_cfg", "*processor*.json"
HOSTILE = [
    ("clip", f"{OF_TEXT} num_hidden_layers", MANY, "num_hidden_layers is 1000000000"),
    ("clip", f"{OF_TEXT} num_hidden_layers", -5, "num_hidden_layers is -5"),
    ("clip", f"{OF_TEXT} num_hidden_layers", 1, "layers.1"),
    ("clip", "config.json vision_config num_hidden_layers", 10**6, "num_hidden_layers is 1000000"),
    ("blip", "config.json vision_config num_hidden_layers", MANY, "num_hidden_layers"),
    ("clip", f"{OF_TEXT} hidden_size", 30_000, "parameters"),
    ("clip", f"{OF_TEXT} hidden_size", 1e300, "hidden_size"),
    ("clip", f"{OF_TEXT} vocab_size", 10**12, "parameters"),
    ("clip", f"{OF_TEXT} max_position_embeddings", MANY, "parameters"),
    ("clip", f"{OF_TEXT} num_attention_heads", MANY, ""),
    ("clip", f"{OF_TEXT} num_attention_heads", 0, ""),
    ("clip", "config.json vision_config image_size", 10**6, "parameters"),
    ("clip", "config.json vision_config image_size", 32, ""),
    ("clip", f"{PROCESSOR} image_processor crop_size", {"height": 10**6, "width": 10**6}, "crop_size 1000000"),
    ("clip", f"{PROCESSOR} image_processor crop_size", {"height": 32, "width": 32}, ""),
    ("clip", f"{PROCESSOR} image_processor size", {"shortest_edge": 10**6}, "size 1000000"),
    ("clip", f"{PROCESSOR} image_processor size", {"shortest_edge": 0}, ""),
    ("siglip2", f"{PROCESSOR} image_processor max_num_patches", MANY, "max_num_patches 1000000000"),
    ("clip", "tokenizer.json", "[" * 10**5, ""),
    ("clip", "tokenizer.json", '{"a":' * 10**5 + "1" + "}" * 10**5, ""),
    ("clip", "tokenizer_config.json", "[" * 10**5, "nested"),
    ("sentence_clip", f"{OF_TEXT} num_hidden_layers", MANY, "num_hidden_layers"),
    ("sentence_clip", f"{OF_TEXT} num_hidden_layers", 1, "layers.1"),
    ("sentence_clip", "tokenizer.json", "[" * 10**5, ""),
    ("sentence_clip", "modules.json", "[" * 10**5, ""),
    ("open_clip_folder", f"{OF_OPEN_CLIP} text_cfg layers", MANY, "layers is 1000000000"),
    ("open_clip_folder", f"{OF_OPEN_CLIP} vision_cfg layers", [3, 4, MANY, 3], "layers is 1000000000"),
    ("open_clip_folder", f"{OF_OPEN_CLIP} text_cfg width", 20_000, "parameters"),
    ("open_clip_folder", f"{OF_OPEN_CLIP} text_cfg vocab_size", 10**10, "parameters"),
    ("open_clip_folder", "open_clip_config.json", "[" * 10**5, "nested"),
]
LIBRARIES = {"open_clip_folder": "open_clip:local-dir", "sentence_clip": "sentence_transformers"}


@pytest.mark.parametrize(("model", "place", "value", "said"), HOSTILE)
def test_a_configuration_beyond_its_weights_is_refused_before_it_is_built(
    request, tmp_path, model, place, value, said, capfd
):
    folder = tmp_path / "hostile"
    shutil.copytree(request.getfixturevalue(model), folder)
    pattern, *keys = place.split()
    for path in folder.rglob(pattern):
        content = json.loads(path.read_text())
        inner = content
        for key in keys[:-1]:
            inner = inner[key]
        if keys:
            inner[keys[-1]] = value
        path.write_text(json.dumps(content) if keys else value)
    capfd.readouterr()  # what saving the model printed
    with limits(), pytest.raises(InputError) as error:
        loaded(f"{LIBRARIES.get(model, 'transformers')}:{folder}")
    assert str(folder) in str(error.value) and said in str(error.value)
    assert not capfd.readouterr().err  # no report of a library before the sentence


def test_models_of_another_kind_are_refused(tmp_path):
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "bert"
    tiny = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    model = transformers.BertModel(transformers.BertConfig(vocab_size=20, **tiny))
    model.save_pretrained(folder)
    transformers.BertTokenizer(vocab={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}).save_pretrained(
        folder
    )
    with pytest.raises(InputError, match=r"type 'bert'.*clip, siglip, siglip2, blip"):
        loaded(f"transformers:{folder}")
    with pytest.raises(InputError, match="images"):
        loaded(f"sentence_transformers:{folder}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("transformers:../../nothing", "no such folder"),
        ("open_clip:ViT-B-33/openai", "ViT-"),
        ("open_clip:ViT-B-32/openia", "'openai'"),
        ("transformers:no/such-model", "fetched"),
        ("open_clip:hf-hub:no/such-model", "fetched"),
    ],
)
def test_names_that_mean_nothing(name, said):
    with pytest.raises(InputError, match=said):
        parse_encoder(name)
        loaded(name)
