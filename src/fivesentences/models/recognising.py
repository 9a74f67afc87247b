"""Which model released weights belong to, by the names of the weights and the command line of the training."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

# A part of a weight's name that only one released model has, in the order in which they are looked for.
SIGNS: dict[str, tuple[str, ...]] = {
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
SETTINGS: dict[str, tuple[str, ...]] = {
    "scan": ("cross_attn", "agg_func", "lambda_softmax"),
    "vsepp": ("measure", "use_restval", "cnn_type"),
}


def recognised(names: Collection[str], settings: Mapping[str, Any]) -> tuple[str | None, str]:
    """The model whose weights have these names, and what tells.

    Args:
        names: Of the weights, with or without their part in front (``img_enc.fc.weight`` or ``fc.weight``).
        settings: The command line that they were trained with; empty if unknown.

    Returns:
        A model of the registry, or None if the names tell none; and the weight or option by which it was recognised,
        empty if it is VSE++ only as far as nothing of another model was found.
    """
    dotted = {f".{name}.": name for name in names}
    for model, signs in SIGNS.items():
        for sign in signs:
            for mark, name in dotted.items():
                if sign in mark and (sign != "_reverse." or ".rnn." in mark):
                    return model, f"the weight {name}"
    if all(any(sign in mark for mark in dotted) for sign in SHARED):
        for model, options in SETTINGS.items():
            for option in options:
                if option in settings:
                    return model, f"the option {option} of its training"
        return "vsepp", ""
    return None, ""
