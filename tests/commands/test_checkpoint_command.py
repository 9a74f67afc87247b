"""`fivesentences checkpoint import` in a folder of its own."""

from __future__ import annotations

from collections import OrderedDict

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
