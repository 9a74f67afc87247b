"""`fivesentences captioning`: CIDEr, BLEU, ROUGE-L, METEOR, SPICE and SPIDEr of captions that a model made."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer

from fivesentences.choices import Split
from fivesentences.commands.arguments import SPLITS, Mirror, names_typed, split_asked
from fivesentences.commands.sheets import Outputs
from fivesentences.errors import InputError, counted, visible
from fivesentences.metrics.sheet import Sheet
from fivesentences.semantics.caption_order import note_on_candidates
from fivesentences.semantics.captioned_images import read_captioned_images
from fivesentences.semantics.captioning import (
    CAPTIONING_METRICS,
    TOKENS,
    check_metric,
    default_tokens,
    parse_metric,
    score_captions,
    without_java,
)
from fivesentences.semantics.java.ptb_tokenizer import ptb_lines
from fivesentences.semantics.registry import plain_name
from fivesentences.semantics.tokenisation import one_word_each

ALL = "all"


def _names(begun: str) -> list[str]:
    """Return names of metrics, for the completion of the shell."""
    return [name for name in (ALL, *CAPTIONING_METRICS) if name.startswith(begun)]


def captioning(
    candidates: Annotated[Path, typer.Argument(metavar="CANDIDATES")],
    references: Annotated[Path, typer.Argument(metavar="REFERENCES")],
    *,
    metric: Annotated[list[str] | None, typer.Option(metavar="NAME", autocompletion=_names)] = None,
    tokens: Literal["ptb", "whitespace", "reattached", "characters"] | None = None,
    per_image: Annotated[int | None, typer.Option(min=1)] = None,
    image_of_caption: Path | None = None,
    split: Annotated[Split | None, typer.Option(parser=split_asked, metavar=SPLITS)] = None,
    subset: bool = False,
    mirror: Mirror = None,
    outputs: Outputs,
) -> None:
    """Score captions that a model made, one per image, against references.

    The numbers are pycocoevalcap's, which are those of the COCO server. Its
    PTB tokens need the extra java; without it, captions are split at blanks,
    and a warning says so. SPICE takes some 25 ms per caption that it has not
    parsed before; what was parsed is kept in the user's cache. --csv has the
    score of every caption.

    Args:
        candidates: One caption per line, in the order of the images; or COCO's results JSON, or another file that
            names images.
        references: The images' captions, one per line; or COCO's annotations JSON, Karpathy's JSON, or another file
            that names images.
        metric: cider (default), bleu1 to bleu4, rouge_l, meteor, spice, spider, or all; several separated by commas, or
            repeat it. A name may end in tokens of its own, such as cider-whitespace.
        tokens: How captions are split into words; default ptb where the extra java is installed, else whitespace.
            characters is for languages that are written without spaces.
        per_image: References per image, in consecutive lines; default 5, or what the file says.
        image_of_caption: Index of each reference's image, from 0, one per line, where their number varies.
        split: Split of the references; default test, or the only one that there is.
        subset: Score the captioned images alone, although REFERENCES has more.
        mirror: Take CoreNLP from here, not from the network.

    Examples:

        fivesentences captioning results.json captions_val2014.json --metric all

        fivesentences captioning mine.txt references.txt --metric cider --metric bleu4
    """
    read = (("CANDIDATES", candidates), ("REFERENCES", references), ("--image-of-caption", image_of_caption))
    outputs.check(read)
    found = read_captioned_images(
        candidates, references, per_image=per_image, image_of_caption=image_of_caption, split=split, subset=subset
    )
    names = [plain_name(name) for name in names_typed(metric or "cider") or [""]]
    asked, loud = _chosen(names, tokens, mirror)  # which may download what SPICE needs
    default = tokens or default_tokens()
    parsed = {name: parse_metric(name, tokens) for name in asked}
    plain = [CAPTIONING_METRICS[one].title for one, chosen in parsed.values() if chosen is None]
    if plain and default != "ptb":
        loud.append(without_java(plain))
    if not outputs.shows_table:  # else they are below it
        for sentence in loud:
            print(visible(sentence), file=sys.stderr, flush=True)
    scores = score_captions(found.candidates, found.references, asked, default, mirror)
    notes = [*loud, *found.notes, *note_on_candidates(found.candidates, found.references)]
    texts = [*found.candidates, *(text for group in found.references for text in group)]
    if any(one.tokens not in ("characters", "as written") for one in scores.values()) and (
        alike := one_word_each(texts)
    ):
        notes.append(alike)
    signs = [one for one in found.candidates if re.search(r"\w", one) is None]
    is_ptb = any(one.tokens == "ptb" for one in scores.values())
    if no_words := sum(not line for line in ptb_lines(signs)) if signs and is_ptb else 0:
        have = "has" if no_words == 1 else "have"
        of = f"{no_words:,} of {counted(len(found.candidates), 'caption')} {have}"
        notes.append(f"{of} punctuation alone, which PTB tokens leave out: scored like an empty caption.")
    copies = sum(one in group for one, group in zip(found.candidates, found.references, strict=True))
    if copies:
        equals = "equals one of its own references" if copies == 1 else "equal one of their own references"
        notes.append(f"{copies:,} of {counted(len(found.candidates), 'caption')} {equals} word for word.")
    counts = [len(group) for group in found.references]
    per = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    title = f"{counted(len(counts), 'caption')} against {counted(sum(counts), 'reference')}, {per} per image"
    notes.append("CIDEr is 0 to 10, SPIDEr 0 to 5.5, the others 0 to 1; papers print 100 times the score.")
    rows, tidy, listed = [], [], []
    for name, one in scores.items():
        about = CAPTIONING_METRICS[parsed[name][0]]
        rows.append([about.title, TOKENS.get(one.tokens, one.tokens), f"{one.corpus:.4f}"])
        columns = {"metric": name, "tokens": one.tokens, "image": found.images, "value": one.each}
        tidy.append(pd.DataFrame(columns))
        largest = {"metric": name, "title": about.title, "tokens": one.tokens, "largest": about.largest}
        listed.append({**largest, "value": one.corpus})
    sheet = Sheet(["metric", "tokens"], [("", "score")], rows, title, notes)
    content = {"candidates": len(counts), "references": sum(counts), "scores": listed, "notes": notes}
    outputs.write([sheet], lambda: pd.concat(tidy), content, read)


def _chosen(names: list[str], tokens: str | None, mirror: Path | None) -> tuple[list[str], list[str]]:
    """Return the metrics to compute, and one sentence on those of ``all`` that this machine cannot compute."""
    chosen: dict[str, None] = {}
    left: dict[str, list[str]] = {}
    for name in names:
        head, dash, own = name.partition("-")
        if head != ALL:
            check_metric(name, tokens, mirror)
            chosen[name] = None
            continue
        for metric, about in CAPTIONING_METRICS.items():
            one = f"{metric}{dash}{own}" if metric != "meteor" or own == "characters" else metric
            try:
                check_metric(one, tokens, mirror)
                chosen[one] = None
            except InputError as error:
                if not about.needs_java:
                    raise
                left.setdefault(str(error), []).append(about.title)
    return list(chosen), [f"Left out: {', '.join(titles)}. {why}" for why, titles in left.items()]
