"""`fivesentences captioning`: CIDEr and SPICE of captions that a model made."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import pandas as pd
import typer

from fivesentences.commands.arguments import Mirror
from fivesentences.commands.sheets import Outputs, Sheet
from fivesentences.errors import InputError
from fivesentences.evaluation.caption_tables import CaptionTable
from fivesentences.semantics.caption_file import read_captioned
from fivesentences.semantics.captioning import cider, notes_on_blanks, spice
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
        candidates: One caption per line, in the order of the images; or COCO's results, or another file that names
            images.
        references: The images' captions, one per line; or a file that names images: a token file, CSV, JSON.
        metric: How a caption is compared with the references.
        per_image: References per image, which stand together.
        mirror: Take CoreNLP from here, not from the network.

    Example:

        fivesentences captioning mine.txt references.txt --metric cider
    """
    read = (("CANDIDATES", candidates), ("REFERENCES", references))
    outputs.check(read)
    ours, theirs = read_captioned(candidates), read_captioned(references)
    made, texts, left = ours.captions, theirs.captions, None
    if ours.is_named and theirs.is_named:
        groups = _references_of(ours, theirs, candidates, references)
        if more := len(theirs.images) - len(groups):
            left = f"{more:,} of the {len(theirs.images):,} images of {references} have no candidate and do not count."
    elif theirs.is_paired:
        groups = [[] for _ in theirs.images]
        for text, image in zip(texts, theirs.image_of_caption, strict=True):
            groups[image].append(text)
    elif len(texts) != len(made) * per_image:
        what = f"it has {len(texts):,} captions, and not {per_image} for each of the {len(made):,} candidates"
        raise InputError(what, where=references, cure="give --per-image")
    else:
        groups = [texts[start : start + per_image] for start in range(0, len(texts), per_image)]
    if len(groups) != len(made):
        what = f"it has captions of {len(groups):,} images, but there are {len(made):,} candidates"
        raise InputError(what, where=references, cure="give the images that were captioned, in the same order")
    name, _, tokenisation = metric.partition("-")
    found = spice(made, groups, mirror=mirror) if name == "spice" else cider(made, groups, tokenisation or "whitespace")
    alike = None if tokenisation == "characters" else one_word_each([*made, *texts])
    notes = [*notes_on_blanks(made, groups), *filter(None, [alike, left])]
    if ours.is_named != theirs.is_named:
        named, silent = (candidates, references) if ours.is_named else (references, candidates)
        notes.append(f"{named} names its images and {silent} does not: both are taken to be in one order.")
    row = [metric, f"{len(made):,}", f"{found.corpus:.4f}"]
    sheet = Sheet(["metric", "candidates"], [("", "score")], [row], notes=notes)
    tidy = pd.DataFrame({"metric": metric, "image": range(len(made)), "value": found.each})
    content = {"metric": metric, "candidates": len(made), "value": found.corpus, "notes": notes}
    outputs.write([sheet], lambda: tidy, content, read)


def _references_of(ours: CaptionTable, theirs: CaptionTable, candidates: Path, references: Path) -> list[list[str]]:
    """Return the references of each candidate, found by the id or name of its image.

    Raises:
        InputError: If an image has two candidates or no references.
    """
    known: dict[str, list[str]] = {}
    stems = [PurePosixPath(image).stem for image in theirs.images]
    for names in (stems, theirs.images, theirs.ids):  # whatever candidates use; ids count most
        of_name: dict[str, list[str]] = {}
        for text, image in zip(theirs.captions, theirs.image_of_caption, strict=True):
            of_name.setdefault(names[image], []).append(text)
        known |= of_name
    groups = []
    for number, image in enumerate(ours.image_of_caption):
        own = [name for name in (ours.ids[image], ours.images[image]) if name in known]
        if image != number or not own:
            what = f"image '{ours.images[image]}' has " + (
                "a second caption" if own else f"no captions in {references}"
            )
            raise InputError(what, where=candidates, cure="give one caption of each image, by the same names or ids")
        groups.append(known[own[0]])
    return groups
