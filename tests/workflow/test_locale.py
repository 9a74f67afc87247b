"""Programs among Turkish letters and German numbers: what they make and say is what they make and say in English."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workflow.conftest import MICRO, said, snakemake

IN_ENGLISH = {"LC_ALL": "C.UTF-8"}
COMMANDS = (
    "evaluate similarity.npy --csv -",
    "evaluate similarity.npy --latex - --inference csls",
    "phi cider captions.txt -o {}.npy --per-image 2 --quiet",
    "captioning made.txt captions.txt --per-image 2",
    "captioning made.txt captions.txt --per-image 2 --metric cider-characters",
    "metrics",
    "evaluate İI.npy",
)


@pytest.mark.slow
def test_a_scale_is_made_alike_abroad(micro: Path, built_locales: dict[str, dict[str, str]], tmp_path: Path) -> None:
    snakemake(tmp_path, micro / MICRO, "--cores", 2, **built_locales["both"])
    compared = 0
    for path in sorted((tmp_path / "results/paper/micro").rglob("*")):
        if path.suffix in (".csv", ".md", ".tex"):
            assert path.read_bytes() == (micro / path.relative_to(tmp_path)).read_bytes(), path.name
            compared += 1
    assert compared > 5
    tidy = "results/evaluation/micro.parquet"
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / tidy), pd.read_parquet(micro / tidy))


@pytest.mark.slow
def test_commands_say_the_same_abroad(built_locales: dict[str, dict[str, str]], tmp_path: Path) -> None:
    np.save(tmp_path / "similarity.npy", np.random.default_rng(0).normal(size=(6, 12)).astype(np.float32))
    texts = ["A GIRL IN İZMIR", "ein Mädchen, 1,5 m groß", "a dog", "one dog .", "İI ıi", "a cat"] * 2
    (tmp_path / "captions.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    (tmp_path / "made.txt").write_text("".join(f"{text}\n" for text in texts[::2]), encoding="utf-8")
    for command in COMMANDS:
        words, code = command.format("same").split(), int("İI" in command)
        there, here = (
            said(tmp_path, "fivesentences", *words, code=code, **environment)
            for environment in (built_locales["both"], IN_ENGLISH)
        )
        assert there == here, command
