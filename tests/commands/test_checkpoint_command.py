"""`fivesentences checkpoint import` in a folder of its own."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import torch

from fivesentences.models.released_checkpoints import load_imported


def a_checkpoint(path):
    gru = torch.nn.GRU(3, 4)
    text = OrderedDict((f"rnn.{name}", value.detach()) for name, value in gru.named_parameters())
    text["embed.weight"] = torch.randn(9, 3)
    image = OrderedDict({"fc.weight": torch.randn(4, 5), "fc.bias": torch.randn(4)})
    torch.save({"model": [image, text], "epoch": 1}, path)


def test_a_checkpoint_is_imported_and_options_are_taken(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a_checkpoint("m.pth.tar")
    given = ("checkpoint", "import", "m.pth.tar", "-o", "out", "--model", "vsepp")
    said = run(*given, "--option", "use_abs=true", "--option", "measure=order")
    assert (said.code, said.out) == (0, "out: vsepp, 159 numbers in 7 weights\n")
    model = load_imported("out")
    assert model.spec.use_abs and model.spec.measure == "order"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["checkpoint.json", "released.safetensors"]


def test_mistakes_end_in_a_sentence(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a_checkpoint("m.pth.tar")
    np.save("text.npy", np.array(["a"]))
    for given, what in (
        (("none.pth.tar", "--model", "vsepp"), "there is no such file"),
        (("m.pth.tar", "--model", "vsep"), "did you mean 'vsepp'"),
        (("m.pth.tar", "--model", "vsepp", "--option", "abs"), "give NAME=VALUE"),
        (("m.pth.tar", "--model", "vsepp", "--option", "abs=1"), "abs"),
        (("m.pth.tar", "--model", "cvse", "--concept-vectors", "text.npy"), "it holds <U1 of shape [1]"),
    ):
        said = run("checkpoint", "import", *given, "-o", "out")
        assert said.code == 1 and said.err.startswith("Error: ") and what in said.err, said
