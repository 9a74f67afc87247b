"""Checkpoints of the released codes (``model_best.pth.tar``), read without running anything and stored as safetensors.

A ``.pth.tar`` is a pickle, and a pickle is a program. Here torch's weights-only reader reads it, which builds tensors,
plain containers and numbers, and of classes only those in ``ALLOWED``; any other name ends in an error.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from torch import Tensor

from fivesentences.documents import check_file
from fivesentences.errors import Cure, InputError, shortage
from fivesentences.models import Matcher, from_released, spec_class
from fivesentences.models.labelled_weights import KEY, check_finite, read_labelled, write_labelled
from fivesentences.seals import check_zip
from fivesentences.storage import sha256_of, together, write_json

FORMAT = 1
WEIGHTS, SETTINGS = "released.safetensors", "checkpoint.json"
_AGAIN = "import the checkpoint again"
WORD_VECTORS = "txt_enc.embed.weight"  # in every released code
# What a released checkpoint contains beside tensors: its command line, and numpy numbers. None runs code when built.
SCALAR = np.float64(0).__reduce__()[0]  # makes a number from a type and bytes; numpy 1 and 2 name it differently
ALLOWED: list[Any] = [
    argparse.Namespace,
    np.dtype,
    (SCALAR, "numpy.core.multiarray.scalar"),
    (SCALAR, "numpy._core.multiarray.scalar"),
    *{type(np.dtype(name)) for name in ("bool", "int32", "int64", "float32", "float64")},
]
# The released codes save a list of state dicts, in this order; a last one of CVSE has no weights.
TWO = ("img_enc", "txt_enc")
PARTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("vsepp", "scan", "vsrn", "vse_infinity"), TWO),
    **dict.fromkeys(("sgr", "saf"), (*TWO, "sim_enc")),
    "cvse": (
        *(*TWO, "V_self_atten_enhance", "T_self_atten_enhance"),
        *("V_consensus_level_embedding", "T_consensus_level_embedding", "C_GCN", "Multi_feature_fusing"),
    ),
}
# A part of a weight's name that only one released model has, in the order in which they are looked for.
SIGNS: dict[str, tuple[str, ...]] = {
    "vse_infinity": (".gpool.",),
    "sgr": (".SGR_module.",),
    "saf": (".SAF_module.",),
    "cvse": (".V_self_atten_enhance.", ".C_GCN.", ".adj_all."),
    "vsrn": (".Rs_GCN_1.", ".img_rnn."),
    "vsepp": (".cnn.",),
    # SCAN's own: captions read in both directions, and a trained length of the image layer.
    "scan": (".fc.weight_v.", "_reverse."),
}
# With captions read in one direction, SCAN's weights have the names of VSE++'s; then the command line tells.
SHARED = (".fc.weight.", ".fc.bias.", ".embed.weight.", ".rnn.weight_ih_l0.")
OPTIONS_OF: dict[str, tuple[str, ...]] = {
    "scan": ("cross_attn", "agg_func", "lambda_softmax"),
    "vsepp": ("measure", "use_restval", "cnn_type"),
}
USUAL = (
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
)
# Released option -> ours; one that begins with ``no_`` says the opposite.
STATED: dict[str, dict[str, str]] = {
    "vsepp": {"measure": "measure", "use_abs": "use_abs", "no_imgnorm": "normalise_images"},
    "scan": {
        "cross_attn": "direction",
        "agg_func": "aggregation",
        "raw_feature_norm": "raw_norm",
        "lambda_softmax": "softmax_temperature",
        "lambda_lse": "pooling_temperature",
        "no_imgnorm": "normalise_images",
        "no_txtnorm": "normalise_captions",
    },
    "cvse": {"Concept_label_ratio": "label_ratio"},
}
OPTIONAL = frozenset({"Multi_feature_fusing"})
# Models whose training adds a word behind those of its vocabulary's file: <mask>.
WITH_MASK = frozenset({"vse_infinity"})


@dataclass(frozen=True)
class ReleasedCheckpoint:
    """The content of a ``.pth.tar``.

    Attributes:
        weights: Released name with its part in front (``img_enc.fc.weight``) -> tensor.
        settings: The command line that it was trained with, as far as it is plain text and numbers.
        facts: Epoch and best score, if it has them.
    """

    weights: dict[str, Tensor]
    settings: dict[str, Any]
    facts: dict[str, Any]


def read_checkpoint(path: Path | str, name: str, options: Mapping[str, Any] | None = None) -> ReleasedCheckpoint:
    """Read a checkpoint of a released code.

    Args:
        path: The file, in torch's zip format or the older one, written by Python 2 or 3.
        name: The model: a key of ``PARTS``.
        options: Settings that a caller states. Weights of SCAN that read captions in one direction are named like
            those of VSE++; without a command line in the file they are taken for SCAN's only with
            ``bidirectional=False``.

    Raises:
        InputError: If the file is missing or damaged, contains a class that is not allowed, is of another model, or
            holds weights that are not finite.
    """
    title = spec_class(name).title  # an error if there is no such model
    content = _plain(Path(path))
    parts, settings = (content.get(key) if isinstance(content, Mapping) else None for key in ("model", "opt"))
    settings = vars(settings) if isinstance(settings, argparse.Namespace) else settings
    settings = settings if isinstance(settings, Mapping) else {}
    states = [parts] if isinstance(parts, Mapping) else parts if isinstance(parts, list | tuple) else []
    if not all(isinstance(state, Mapping) for state in states):
        raise InputError(f"{path}: 'model' is a list of other things than names and weights; is it a {title}?")
    _check_model(path, name, [_bare(str(key)) for state in states for key in state], settings, options or {})
    expected = PARTS[name]
    if len(states) == 1:  # one state dict with the parts in its names
        weights = {_bare(str(key)): value for key, value in states[0].items()}
    elif len(states) in (len(expected), len(set(expected) - OPTIONAL)):
        named = zip(expected, states, strict=False)
        weights = {_bare(f"{part}.{key}"): value for part, state in named for key, value in state.items()}
    else:
        has = f"{len(expected)}: {', '.join(expected)}"
        raise InputError(f"{path}: 'model' holds {len(states)} parts, but a checkpoint of {name} has {has}.")
    odd = [key for key, value in weights.items() if not isinstance(value, Tensor)]
    if odd or not weights:
        raise InputError(f"{path}: {odd[0] if odd else 'the model'} holds no weights; is it a checkpoint of {name}?")
    for key, value in weights.items():
        if value.device.type != "cpu" or value.layout != torch.strided or value.dtype not in USUAL:
            what = f"{key} is a tensor of {value.dtype} ({value.device.type}, {value.layout})"
            raise InputError(what, where=path, cure="save it as an ordinary tensor of float32")
    check_finite(weights, path, "import another file: a model with such weights ranks nothing")
    try:
        return ReleasedCheckpoint(
            weights,
            {str(key): _value(value) for key, value in settings.items()},
            {key: _value(content[key]) for key in ("epoch", "best_rsum", "Eiters") if key in content},
        )
    except RecursionError:  # a pickle can make a list that holds itself
        raise InputError(f"{path}: a setting is lists within lists without end; no released code saves that.") from None


def _check_model(
    path: Path | str, name: str, names: Collection[str], settings: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Refuse a checkpoint whose weights are recognised, by their names, as those of another model.

    Raises:
        InputError: Which model they look like, and by what.
    """
    found, by = recognised(names, settings)
    ambiguous = name == "scan" and found == "vsepp" and not by
    if found is None or found == name or (ambiguous and options.get("bidirectional") is False):
        return
    here, there = spec_class(found).title, spec_class(name).title
    cure = Cure(f'pass name="{found}"', f"give --model {found}")
    if ambiguous:
        further = f", or, if it is a {there} that reads captions in one direction,"
        cure += Cure(f"{further} options={{'bidirectional': False}}", "--option bidirectional=false")
    why = f"by {by}" if by else "no weight is of another model"
    raise InputError(f"its weights look like those of {here} ({why}), not of {there}", where=path, cure=cure)


def recognised(names: Collection[str], settings: Mapping[str, Any]) -> tuple[str | None, str]:
    """Recognise the model whose weights have these names.

    Args:
        names: Names of the weights, with or without their part in front (``img_enc.fc.weight`` or ``fc.weight``).
        settings: The command line that they were trained with; empty if unknown.

    Returns:
        A model of the registry, or None if the names tell none; and the weight or option by which it was recognised,
        empty if it is VSE++ only as far as nothing of another model was found.
    """
    dotted = {f".{name}.": name for name in names}
    for model, sign in ((model, sign) for model, signs in SIGNS.items() for sign in signs):
        for mark, name in dotted.items():
            if sign in mark and (sign != "_reverse." or ".rnn." in mark):
                return model, f"the weight {name}"
    if not all(any(sign in mark for mark in dotted) for sign in SHARED):
        return None, ""
    said = ((model, option) for model, options in OPTIONS_OF.items() for option in options if option in settings)
    model, option = next(said, ("vsepp", ""))
    return model, f"the option {option} of its training" if option else ""


def options_of(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a model that a released command line states and the weights do not."""
    names = {theirs: ours for theirs, ours in STATED.get(name, {}).items() if settings.get(theirs) is not None}
    found = {ours: not settings[key] if key.startswith("no_") else settings[key] for key, ours in names.items()}
    if name == "cvse":
        found["test_alpha"] = 0.9 if "coco" in str(settings.get("data_name", "")) else 0.85
    return found


def import_checkpoint(
    path: Path | str,
    folder: Path | str,
    name: str,
    options: Mapping[str, Any] | None = None,
    concept_vectors: np.ndarray | None = None,
) -> Matcher:
    """Write a released checkpoint as ``released.safetensors`` and ``checkpoint.json``, and return its model.

    Args:
        path: The ``.pth.tar``.
        folder: Made if need be.
        name: The model.
        options: Settings that override, or add to, the command line in the checkpoint.
        concept_vectors: ``[C, dim]`` of CVSE, which no checkpoint contains.

    Raises:
        InputError: As ``read_checkpoint``, or if the weights, options or vectors do not fit the model.
    """
    extra = {} if concept_vectors is None else {"concept_vectors": torch.as_tensor(concept_vectors)}
    check_finite(extra, path, "give the vectors that the model was trained with")
    checkpoint = read_checkpoint(path, name, options)
    chosen = options_of(name, checkpoint.settings) | dict(options or {})
    model = from_released(name, checkpoint.weights, **chosen, **extra)
    tensors = {key: value.contiguous().clone() for key, value in (checkpoint.weights | extra).items()}
    label = {"format": FORMAT, "model": name, "options": chosen}
    facts = {"sha256": sha256_of(path), **label, **checkpoint.facts, "released_settings": checkpoint.settings}
    with together():
        write_labelled(Path(folder) / WEIGHTS, tensors, label)
        write_json(Path(folder) / SETTINGS, facts)
    return model


def load_imported(folder: Path | str) -> Matcher:
    """Return the model of an imported checkpoint, in eval mode.

    Raises:
        InputError: If the file is missing, damaged or of another format.
    """
    label, tensors = read_labelled(Path(folder) / WEIGHTS, "an imported checkpoint", FORMAT, _AGAIN)
    name, options = label.get("model"), label.get("options")
    if not isinstance(name, str) or not isinstance(options, dict) or not {"name", "state_dict"}.isdisjoint(options):
        raise InputError("its label names no model with options", where=Path(folder) / WEIGHTS, cure=_AGAIN)
    if "concept_vectors" in tensors:
        options = {**options, "concept_vectors": tensors.pop("concept_vectors")}
    with torch.device("meta"):  # shapes are compared before memory is taken for them
        from_released(name, tensors, **options)
    return from_released(name, tensors, **options)


def words_of(folder: Path | str) -> int:
    """Return the number of words of the file that an imported checkpoint was trained with, from its weights' shapes.

    Raises:
        InputError: If its word vectors are missing.
    """
    with safe_open(Path(folder) / WEIGHTS, framework="pt") as file:
        if WORD_VECTORS not in file.keys():  # noqa: SIM118 (not a dict)
            raise InputError(f"{folder}: {WEIGHTS} lacks {WORD_VECTORS}; import the checkpoint again.")
        (vectors, _), label = file.get_slice(WORD_VECTORS).get_shape(), json.loads(file.metadata()[KEY])
    return int(vectors) - (label["model"] in WITH_MASK)


def _plain(path: Path) -> Any:
    """Return the file's content, built from tensors, containers, numbers and ``ALLOWED``."""
    check_file(path)
    try:
        check_zip(path)
        with torch.serialization.safe_globals(ALLOWED), warnings.catch_warnings():
            # latin1 reads the bytes that Python 2 called text; torch accepts it, despite its warning.
            warnings.filterwarnings("ignore", "pickle_load_args only works")
            return torch.load(path, map_location="cpu", weights_only=True, encoding="latin1")
    except pickle.UnpicklingError as error:
        # Only the name is taken from torch's message, which goes on to say how to load it all the same.
        found = re.search(r"GLOBAL ([\w.]+)", str(error))
        reason = f"it holds a {found[1]}" if found else "it holds more than weights and settings"
        raise InputError(f"{path} is refused, and nothing in it was run: {reason}.") from None
    except Exception as error:  # a damaged file can fail in any way
        if short := shortage(error, path):
            raise short from None
        what, cure = _kind_of(path, str(error))
        raise InputError(what, where=path, cure=cure) from None


def _kind_of(path: Path, complaint: str) -> tuple[str, str]:
    """Say what a file is that torch cannot read as a checkpoint, with a cure."""
    give = "give the .pth.tar that the released training code saved"
    if not path.stat().st_size:
        return "it is empty", give
    with path.open("rb") as file:  # not by tarfile, which would unpack and follow whatever it states
        head = file.read(512)
    if head[257:262] == b"ustar":
        return "this is a .tar archive, not a checkpoint", "unpack it, and import the checkpoint in it"
    if "TorchScript" in complaint:
        return "this is a TorchScript program, which is never loaded", give
    return "this is not a checkpoint that torch can read, or not a whole one", give


def _bare(key: str) -> str:
    """A weight's name without the ``module.`` that training on several GPUs puts before it, or before its part."""
    part, dot, rest = key.removeprefix("module.").partition(".")
    return part + dot + rest.removeprefix("module.")


def _value(value: Any) -> Any:
    """Return a setting as JSON can store it; None unless it is text, a number or a list of these."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (list, tuple)):
        return [_value(entry) for entry in value]
    plain = isinstance(value, (str, bool, int)) or (isinstance(value, float) and np.isfinite(value))
    return value if plain else None
