"""`fivesentences captioning`: scores of captions that systems made, by words, by meaning and by images, and tests."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from fivesentences.choices import Split
from fivesentences.commands.arguments import SPLITS, Mirror, Resampling, named, names_typed, split_asked
from fivesentences.commands.model_rows import letters_of_models
from fivesentences.commands.score_sheets import ALPHA, p_in_words, too_few_resamples
from fivesentences.commands.sheets import Outputs, Read
from fivesentences.errors import InputError, counted, first_of, visible
from fivesentences.evaluation.caption_tests import compare_captions
from fivesentences.evaluation.matrix_files import read_matrix
from fivesentences.metrics.sheet import Marked, Sheet
from fivesentences.semantics.caption_order import note_on_candidates
from fivesentences.semantics.captioned_images import CaptionedImages, read_captioned_images
from fivesentences.semantics.captioning import (
    AS_WRITTEN,
    CAPTIONING_METRICS,
    OF_IMAGES,
    TOKENS,
    CaptioningMetric,
    CaptionScores,
    check_metric,
    default_tokens,
    parse_metric,
    score_captions,
    without_java,
)
from fivesentences.semantics.clipscore import OWN_VECTORS, clip_scores, unit_vectors
from fivesentences.semantics.java.ptb_tokenizer import ptb_lines
from fivesentences.semantics.registry import plain_name
from fivesentences.semantics.tokenisation import one_word_each

ALL = "all"


def _names(begun: str) -> list[str]:
    """Return names of metrics, for the completion of the shell."""
    return [name for name in (ALL, *CAPTIONING_METRICS) if name.startswith(begun)]


@dataclass(frozen=True)
class Vectors:
    """Vectors by a dual encoder such as CLIP, for clipscore, refclipscore, pacs and refpacs.

    Attributes:
        image_embeddings: [images, dim], in the order of the images in REFERENCES.
        caption_embeddings: [captions, dim], in the order of the captions in CANDIDATES; repeat it for each system.
        reference_embeddings: [captions, dim], in the order of the captions in REFERENCES.
    """

    image_embeddings: Path | None = None
    caption_embeddings: list[Path] | None = None
    reference_embeddings: Path | None = None

    @property
    def read(self) -> Read:
        """The files, as ``Outputs.check`` takes them."""
        captions = [("--caption-embeddings", file) for file in self.caption_embeddings or ()]
        others = ("--image-embeddings", self.image_embeddings), ("--reference-embeddings", self.reference_embeddings)
        return [*others, *captions]

    def check(self, metrics: Sequence[str], systems: Sequence[str]) -> None:
        """Check that all that metrics need was given.

        Raises:
            InputError: If something is missing, or given for none of the metrics.
        """
        of_images = [CAPTIONING_METRICS[one].title for one in metrics if one in OF_IMAGES]
        with_references = [one for one in of_images if one.startswith("Ref")]
        given = {
            "--image-embeddings": (self.image_embeddings, of_images),
            "--caption-embeddings": (self.caption_embeddings, of_images),
            "--reference-embeddings": (self.reference_embeddings, with_references),
        }
        for option, (file, titles) in given.items():
            if titles and not file:
                cure = "give vectors of one dual encoder, such as fivesentences embed writes"
                raise InputError(f"{titles[0]} needs {option}, which is missing", cure=cure)
            if file and not titles:
                few = "refclipscore or refpacs" if option.startswith("--ref") else ", ".join(OF_IMAGES)
                raise InputError("no metric reads it", where=option, cure=f"give --metric {few}")
        if of_images and len(files := self.caption_embeddings or ()) != len(systems):
            what = f"there are {counted(len(files), 'file')}, for {counted(len(systems), 'file')} of candidates"
            cure = "repeat it for each, in their order"
            raise InputError(what, where="--caption-embeddings", cure=cure)

    def scores(self, found: CaptionedImages, system: int, metrics: Sequence[str]) -> dict[str, CaptionScores]:
        """Return the scores of a system.

        Args:
            found: Its captions.
            system: Its place on the command line.
            metrics: Names of ``OF_IMAGES``.

        Raises:
            InputError: If a file is missing or has other rows than captions or images, or a vector that is none.
        """
        assert self.image_embeddings is not None and self.caption_embeddings is not None
        n_candidates, n_images, n_references = found.sizes
        images = _rows(self.image_embeddings, n_images, "image", found.place_of_image)
        candidates = _rows(self.caption_embeddings[system], n_candidates, "candidate", found.place_of_candidate)
        owner, references = None, None
        if self.reference_embeddings is not None:
            places = [place for some in found.places_of_references for place in some]
            owner = np.repeat(np.arange(len(images)), [len(some) for some in found.places_of_references])
            references = _rows(self.reference_embeddings, n_references, "reference", places)
        kinds = {"--image-embeddings": images, "--reference-embeddings": references}
        for option, array in kinds.items():
            if array is not None and array.shape[1] != candidates.shape[1]:
                what = f"its vectors have {candidates.shape[1]} numbers, but those of {option} {array.shape[1]}"
                raise InputError(what, where=self.caption_embeddings[system], cure="embed all by one encoder")
        return clip_scores(images, candidates, metrics, references, owner)


def _rows(file: Path, size: int, of: str, places: Sequence[int]) -> NDArray[np.float64]:
    """Return some rows of a file of vectors, which has one for each of something."""
    array = read_matrix(file)
    if len(array) != size:
        what = f"it has {counted(len(array), 'row')}, for {counted(size, of)}"
        raise InputError(what, where=file, cure=f"give one vector per {of}, in the order of the file")
    return unit_vectors(array, str(file))[list(places)]


def captioning(
    files: Annotated[list[str], typer.Argument(metavar="CANDIDATES... REFERENCES")],
    *,
    metric: Annotated[list[str] | None, typer.Option(metavar="NAME", autocompletion=_names)] = None,
    tokens: Literal["ptb", "whitespace", "reattached", "characters"] | None = None,
    per_image: Annotated[int | None, typer.Option(min=1)] = None,
    image_of_caption: Path | None = None,
    split: Annotated[Split | None, typer.Option(parser=split_asked, metavar=SPLITS)] = None,
    subset: bool = False,
    against: str | None = None,
    mirror: Mirror = None,
    vectors: Vectors,
    tests: Resampling,
    outputs: Outputs,
) -> None:
    """Score captions that systems made, one per image, against references, and compare the systems.

    The numbers are pycocoevalcap's, which are those of the COCO server. Its
    PTB tokens need the extra java; without it, captions are split at blanks,
    and a warning says so. SPICE takes some 25 ms per caption that it has not
    parsed before; what was parsed is kept in the user's cache. --csv has the
    score of every caption.

    Several systems that captioned the same images share a table, and are
    compared by tests that are paired by image.

    Args:
        files: One caption per line, in the order of the images; or COCO's results JSON, or another file that names
            images; NAME=FILE names a system. The last file has the images' captions by people, one per line; or is
            COCO's annotations JSON, Karpathy's JSON, or another file that names images.
        metric: cider (default), bleu1 to bleu4, rouge_l, meteor, spice, spider, words, embedding, clipscore,
            refclipscore, pacs, refpacs, or all; several separated by commas, or repeat it. A name may end in tokens of
            its own, such as cider-whitespace. words and embedding average the cosines with the references; words-max
            and embedding-max take the best.
        tokens: How captions are split into words; default ptb where the extra java is installed, else whitespace.
            characters is for languages that are written without spaces.
        per_image: References per image, in consecutive lines; default 5, or what the file says.
        image_of_caption: Index of each reference's image, from 0, one per line, where their number varies.
        split: Split of the references; default test, or the only one that there is.
        subset: Score the captioned images alone, although REFERENCES has more.
        against: Compare with this system alone; default: every pair.
        mirror: Take CoreNLP from here, not from the network.

    Examples:

        fivesentences captioning results.json captions_val2014.json --metric all

        fivesentences captioning mine.txt references.txt --metric cider --metric bleu4

        fivesentences captioning a.json b.json captions.json --metric cider,words --latex out.tex
    """
    if len(files) < 2:
        what = f"there is one file, {files[0]}, and no references"
        raise InputError(what, cure="give the candidates first, then the references")
    found = score_systems(
        files, metric, tokens, per_image=per_image, image_of_caption=image_of_caption, split=split, subset=subset,
        against=against, mirror=mirror, vectors=vectors, outputs=outputs,
    )  # fmt: skip
    systems, scores, about, read, notes = found.systems, found.scores, found.about, found.read, [*found.notes]
    first = found.captioned
    counts = [len(group) for group in first.references]
    per = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    title = f"{counted(len(counts), 'caption')} against {counted(sum(counts), 'reference')}, {per} per image"
    notes.append(found.ranges)
    if len(systems) == 1:
        of_system = next(iter(scores.values()))
        rows = [[about[name].title, _tokens(one), f"{one.corpus:.4f}"] for name, one in of_system.items()]
        sheet = Sheet(["metric", "tokens"], [("", "score")], rows, title, notes)
        content = {"candidates": len(counts), "references": sum(counts), "scores": _listed(of_system, about)}
        outputs.write([sheet], lambda: _tidy(first, of_system), content | {"notes": notes}, read)
        return
    how_tested = asdict(tests) | {"against": against}
    tested = compare_captions(scores, **how_tested)
    title = f"{len(systems)} systems: {title}"
    table = _table(scores, about, tested, title, notes)
    listed = [{"system": name, "file": str(systems[name]), "scores": _listed(of, about)} for name, of in scores.items()]
    how = {key: tested.attrs[key] for key in ("method", "resamples", "confidence", "seed")}
    content = {"candidates": len(counts), "references": sum(counts), "systems": listed, **how}
    content |= {"tests": tested.rename(columns={"model": "system"}).to_dict("records"), "notes": notes}

    def tidy() -> pd.DataFrame:
        return pd.concat(_tidy(first, of).assign(system=name) for name, of in scores.items())

    shown = [replace(table, notes=[]), _differences(tested, about, table.notes)]
    outputs.write(shown, tidy, content, read, lambda: table)


@dataclass(frozen=True)
class ScoredSystems:
    """Systems that captioned the same images, with the score of every caption.

    Attributes:
        systems: Their files, by name.
        captioned: Images and references, with the captions of the first system.
        captions: ``[images]`` captions of each system.
        scores: Scores of each, by metric, in this order of the images.
        about: The metrics, by the names that were asked for.
        read: Every file that was read.
        notes: Sentences on files and scores.
        ranges: A sentence on the best values of the metrics.
    """

    systems: Mapping[str, Path]
    captioned: CaptionedImages
    captions: Mapping[str, list[str]]
    scores: Mapping[str, dict[str, CaptionScores]]
    about: Mapping[str, CaptioningMetric]
    read: Read
    notes: list[str]
    ranges: str


def score_systems(
    files: Sequence[str],
    metric: str | Sequence[str] | None = None,
    tokens: str | None = None,
    *,
    per_image: int | None = None,
    image_of_caption: Path | None = None,
    split: Split | None = None,
    subset: bool = False,
    against: str | None = None,
    mirror: Path | None = None,
    vectors: Vectors | None = None,
    outputs: Outputs | None = None,
) -> ScoredSystems:
    """Read and score systems; arguments and errors are those of the command, references being the last file."""
    vectors, outputs = vectors or Vectors(), outputs or Outputs()
    references = Path(files[-1])
    systems = _systems(files[:-1], against)
    read: Read = [("CANDIDATES", file) for file in systems.values()]
    read = [*read, ("REFERENCES", references), ("--image-of-caption", image_of_caption), *vectors.read]
    outputs.check(read)
    how: dict[str, Any] = {"per_image": per_image, "image_of_caption": image_of_caption, "split": split}
    captioned = {name: read_captioned_images(file, references, subset=subset, **how) for name, file in systems.items()}
    order = _in_one_order(captioned, systems)
    names = [plain_name(name) for name in names_typed(metric or "cider") or [""]]
    asked, loud = _chosen(names, tokens, mirror, bool(vectors.image_embeddings))  # which may download what SPICE needs
    parsed = {name: parse_metric(name, tokens) for name in asked}
    vectors.check([one for one, _ in parsed.values()], list(systems))
    default = tokens or default_tokens()
    plain = [CAPTIONING_METRICS[one].title for one, chosen in parsed.values() if chosen is None]
    if plain and default != "ptb":
        loud.append(without_java(plain))
    if not outputs.shows_table:  # else they are below it
        for sentence in loud:
            print(visible(sentence), file=sys.stderr, flush=True)
    of_images = [name for name, (one, _) in parsed.items() if one in OF_IMAGES]
    scores: dict[str, dict[str, CaptionScores]] = {}
    for number, (name, found) in enumerate(captioned.items()):
        of_texts = [one for one in asked if one not in of_images]
        both = score_captions(found.candidates, found.references, of_texts, default, mirror) if of_texts else {}
        both |= vectors.scores(found, number, of_images) if of_images else {}
        scores[name] = {one: both[one]._replace(each=both[one].each[order[name]]) for one in asked}
    notes = [*loud]
    for name, found in captioned.items():
        of = f"{name}: " if len(systems) > 1 else ""
        notes += [f"{of}{note}" for note in (*found.notes, *_notes_on(found, scores[name]))]
    captions = {name: [found.candidates[at] for at in order[name]] for name, found in captioned.items()}
    about = {name: CAPTIONING_METRICS[one] for name, (one, _) in parsed.items()}
    ranges = _ranges([one for one, _ in parsed.values()])
    first = next(iter(captioned.values()))
    return ScoredSystems(systems, first, captions, scores, about, read, notes, ranges)


def _systems(files: Sequence[str], against: str | None) -> dict[str, Path]:
    """Return the files of candidates by the names of the systems.

    Raises:
        InputError: If two have one name, or there is no system ``against``.
    """
    found: dict[str, Path] = {}
    for text in files:
        name, file = named(text)
        name = name or Path(file).stem
        if name in found:
            what = f"two systems are called '{name}' ({found[name]} and {file})"
            raise InputError(what, cure=f"name them, such as A={found[name]} B={file}")
        found[name] = Path(file)
    if against is not None and against not in found:
        raise InputError(f"it is '{against}', which is none of the systems: {', '.join(found)}.", where="--against")
    if against is not None and len(found) < 2:
        raise InputError("it says with which of several systems the others are compared.", where="--against")
    return found


def _in_one_order(captioned: Mapping[str, CaptionedImages], systems: Mapping[str, Path]) -> dict[str, list[int]]:
    """Return the place of each image of the first system among those of every system.

    Raises:
        InputError: If a system captioned other images than the first one.
    """
    first = next(iter(captioned))
    found = {}
    for name, one in captioned.items():
        for has, lacks in ((first, name), (name, first)):
            held = set(captioned[lacks].place_of_image)
            images = zip(captioned[has].images, captioned[has].place_of_image, strict=True)
            if missing := [image for image, place in images if place not in held]:
                which = first_of([f"'{image}'" for image in missing], 5)
                what = f"it has no caption of {counted(len(missing), 'image')} that {systems[has]} has: {which}"
                raise InputError(what, where=systems[lacks], cure="give captions of the same images by every system")
        row = {place: at for at, place in enumerate(one.place_of_image)}
        found[name] = [row[place] for place in captioned[first].place_of_image]
    return found


def _notes_on(found: CaptionedImages, scores: Mapping[str, CaptionScores]) -> list[str]:
    """Return what a reader of a system's scores should know."""
    notes = note_on_candidates(found.candidates, found.references)
    texts = [*found.candidates, *(text for group in found.references for text in group)]
    if any(one.tokens not in ("characters", AS_WRITTEN, OWN_VECTORS) for one in scores.values()) and (
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
    return notes


def _ranges(metrics: Sequence[str]) -> str:
    """Return a sentence on the best values of metrics."""
    some = dict.fromkeys(["cider", "spider", *(one for one in metrics if one in OF_IMAGES)])
    first, *more = (f"0 to {CAPTIONING_METRICS[one].largest:.3g}" for one in some)
    titles = [CAPTIONING_METRICS[one].title for one in some]
    others = "".join(f", {title} {most}" for title, most in zip(titles[1:], more, strict=True))
    return f"{titles[0]} is {first}{others}, the others 0 to 1; papers print 100 times the score."


def _tokens(scores: CaptionScores) -> str:
    return TOKENS.get(scores.tokens, scores.tokens)


def _listed(scores: Mapping[str, CaptionScores], about: Mapping[str, CaptioningMetric]) -> list[dict[str, Any]]:
    """Return the scores of a system for JSON."""
    return [
        {"metric": name, "title": about[name].title, "tokens": one.tokens, "largest": about[name].largest,
         "value": one.corpus}
        for name, one in scores.items()
    ]  # fmt: skip


def _tidy(found: CaptionedImages, scores: Mapping[str, CaptionScores]) -> pd.DataFrame:
    """Return the score of every caption of a system."""
    columns = ({"metric": name, "tokens": one.tokens, "image": found.images, "value": one.each}
               for name, one in scores.items())  # fmt: skip
    return pd.concat(map(pd.DataFrame, columns))


def _table(
    scores: Mapping[str, Mapping[str, CaptionScores]],
    about: Mapping[str, CaptioningMetric],
    tested: pd.DataFrame,
    title: str,
    notes: Sequence[str],
) -> Sheet:
    """Return a row per system, the best numbers in bold and with the letters of the systems that they beat."""
    letters = dict(zip(scores, letters_of_models(), strict=False))
    beaten: dict[tuple[str, str], list[str]] = {}
    for row in tested.to_dict("records"):
        if row["p_holm"] < ALPHA and row["difference"]:
            winner, loser = ("model", "against") if row["difference"] > 0 else ("against", "model")
            beaten.setdefault((row[winner], row["metric"]), []).append(letters[row[loser]])
    shown = {metric: {name: f"{of[metric].corpus:.4f}" for name, of in scores.items()} for metric in about}
    best = {metric: max(texts.values(), key=float) for metric, texts in shown.items()}
    rows = []
    for name in scores:
        cells = []
        for metric, texts in shown.items():
            is_best = texts[name] == best[metric] and len(set(texts.values())) > 1
            cells.append(Marked(texts[name], is_best, "".join(sorted(beaten.get((name, metric), [])))))
        rows.append([letters[name], name, *cells])
    first = next(iter(scores.values()))
    columns = [(_tokens(first[metric]), one.title) for metric, one in about.items()]
    pairs = tested.attrs["pairs"]
    flips = "sign flips" if tested.attrs["method"] == "permutation" else "draws"
    for_pairs = f"Holm's correction for the {pairs} pairs of systems" if pairs > 1 else "one pair, no correction"
    below = [
        "Bold: the best of these systems, and what equals it.",
        "Superscript: the number is significantly better than those of the systems with these letters (paired "
        f"{tested.attrs['method']} test, {tested.attrs['resamples']:,} {flips} of images, p < {ALPHA:g}, {for_pairs}).",
    ]
    if added := [one.title for one in about.values() if one.title.startswith(("BLEU", "METEOR"))]:
        what = f"{', '.join(added)}: the score of a set adds up counts first"
        below.append(f"{what}, and the tests compare means of the captions' own scores.")
    return Sheet(["", "system"], columns, rows, title, [*below, *too_few_resamples(tested), *notes])


def _differences(tested: pd.DataFrame, about: Mapping[str, CaptioningMetric], notes: Sequence[str]) -> Sheet:
    """Return the difference of every two systems, with its interval and p after Holm's correction."""
    rows = []
    for row in tested.to_dict("records"):
        interval = "" if pd.isna(row["low"]) else f"{row['low']:+.4f}, {row['high']:+.4f}"
        cells = [f"{row['difference']:+.4f}", interval, p_in_words(row["p_holm"])]
        is_sure = row["p_holm"] < ALPHA
        systems = f"{row['model']} - {row['against']}"
        rows.append([about[row["metric"]].title, systems, *(Marked(cell, is_sure) for cell in cells)])
    interval = f"{100 * tested.attrs['confidence']:g} % interval"
    return Sheet(["metric", "systems"], [("", "difference"), ("", interval), ("", "p")], rows, "", notes)


def _chosen(names: list[str], tokens: str | None, mirror: Path | None, has_images: bool) -> tuple[list[str], list[str]]:
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
            if metric in OF_IMAGES:  # without vectors nobody expects them, nor those of references
                if has_images and not metric.startswith("ref"):
                    chosen[metric] = None
                continue
            without_tokens = about.model or (metric == "meteor" and own != "characters")
            one = metric if without_tokens else f"{metric}{dash}{own}"
            try:
                check_metric(one, tokens, mirror)
                chosen[one] = None
            except InputError as error:
                if not about.needs_java and not about.model:
                    raise
                left.setdefault(str(error), []).append(about.title)
    return list(chosen), [f"Left out: {', '.join(titles)}. {why}" for why, titles in left.items()]
