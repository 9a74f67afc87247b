"""`fivesentences captioning`: CIDEr and SPICE of captions that a model made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer

from fivesentences.commands.arguments import Mirror
from fivesentences.commands.sheets import Outputs, Sheet
from fivesentences.errors import InputError
from fivesentences.semantics.caption_file import read_captions
from fivesentences.semantics.captioning import cider, spice
from fivesentences.semantics.tokenisation import one_word_each


def captioning(
    candidates: Annotated[Path, typer.Argument(metavar="CANDIDATES")],
    references: Annotated[Path, typer.Argument(metavar="REFERENCES")],
    *,
    metric: Literal["cider", "cider-characters", "cider-ptb", "cider-reattached", "spice"] = "cider",
    per_image: Annotated[int, typer.Option(min=1)] = 5,
    mirror: Mirror = None,
    outputs: Outputs,
) -> None:
    """Score captions that a model made, one per image, against references.

    The numbers are pycocoevalcap's. CIDEr needs no Java unless words are cut
    as the Penn Treebank does (cider-ptb, as the COCO server does); SPICE
    takes a Java of the extra java, and some 25 ms per caption that it has
    not parsed before (minutes for a sentence of 200 words); what was parsed
    is kept in the user's cache. cider-characters is for languages that are
    written without spaces. --csv has the score of every caption.

    Args:
        candidates: One caption per line, in the order of the images; or .json.
        references: The images' captions, one per line; or .json.
        metric: How a caption is compared with the references.
        per_image: References per image, which stand together.
        mirror: Take CoreNLP from here, not from the network.

    Example:

        fivesentences captioning mine.txt references.txt --metric cider
    """
    read = (("CANDIDATES", candidates), ("REFERENCES", references))
    outputs.check(read)
    made, texts = read_captions(candidates), read_captions(references)
    if len(texts) != len(made) * per_image:
        what = f"it has {len(texts):,} captions, and not {per_image} for each of the {len(made):,} candidates"
        raise InputError(what, where=references, cure="give --per-image")
    groups = [texts[start : start + per_image] for start in range(0, len(texts), per_image)]
    name, _, tokenisation = metric.partition("-")
    found = spice(made, groups, mirror=mirror) if name == "spice" else cider(made, groups, tokenisation or "whitespace")
    notes = [note] if tokenisation != "characters" and (note := one_word_each([*made, *texts])) else []
    row = [metric, f"{len(made):,}", f"{found.corpus:.4f}"]
    sheet = Sheet(["metric", "candidates"], [("", "score")], [row], notes=notes)
    tidy = pd.DataFrame({"metric": metric, "image": range(len(made)), "value": found.each})
    outputs.write([sheet], lambda: tidy, {"metric": metric, "candidates": len(made), "value": found.corpus}, read)
