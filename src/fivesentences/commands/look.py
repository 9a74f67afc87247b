"""`fivesentences look`: a page on which a model can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands.annotations import read_list
from fivesentences.commands.arguments import Quiet, named
from fivesentences.commands.captioning import score_systems
from fivesentences.commands.exports import check_format
from fivesentences.commands.model_inputs import Given, ModelInputs, with_pairs
from fivesentences.console import working
from fivesentences.errors import InputError
from fivesentences.evaluation.caption_tests import compare_captions
from fivesentences.evaluation.gallery_files import captions_of
from fivesentences.evaluation.item_lists import is_lists
from fivesentences.evaluation.matrix_files import OpenedOnce
from fivesentences.pages.captioned import Captioned, write_captions_page
from fivesentences.pages.page import PAGE, check_folder
from fivesentences.pages.pictures import Pictures, pictures_of
from fivesentences.pages.report import Report
from fivesentences.semantics.caption_file import read_captioned
from fivesentences.semantics.registry import default_phis
from fivesentences.storage import check_outputs

TEXTS = (".json", ".txt", ".csv", ".tsv", ".jsonl")  # endings of files of captions


@dataclass(frozen=True)
class Shown:
    """What is shown.

    Attributes:
        images: Photographs: a folder, zip archive, tar shard (repeat for more), or a .txt that lists paths; default:
            captions alone.
        image_ids: Name of each image's photograph, one per line, with or without its ending, or COCO's id; default:
            names in the file of captions, or else photographs in the order of the rows.
        caption_ids: Id of each caption, one per line, for lists that name them.
        queries: The most queries of a direction on the page: those that stand out, and others drawn at random.
        seed: Seed of that draw.
        k: Items that a query is answered with, and the cut-off by which it counts as found.
        query: Draw this query for --figure: the number of a caption, from 0, or its name on the page, such as i2t-3.
        figure: Write the answers of --query to this .pdf, .svg or .png, and no page.
    """

    images: list[Path] | None = None
    image_ids: Path | None = None
    caption_ids: Path | None = None
    queries: Annotated[int, typer.Option(min=1)] = 1000
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1)] = 0
    k: Annotated[int, typer.Option("--k", min=1, max=100)] = 5
    query: str | None = None
    figure: Path | None = None


def look(
    models: Annotated[list[str], typer.Argument(metavar="MODEL")],
    *,
    inputs: ModelInputs,
    page: Shown,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER")] = Path("look"),
    quiet: Quiet = False,
) -> None:
    """Write a page on which models can be seen: what they retrieve for which queries, beside photographs.

    FOLDER/index.html opens in a browser from disk; nothing is loaded from a
    network, so that the folder can be sent. It has recall and NCS over k with
    intervals and chance, ranks of own items, NCS against rank (each point opens
    its query), hubs, where models differ, and a gallery of queries to filter
    and search: missed by recall and answered well, found and answered badly.

    Thumbnails stay within 20 MB. Photographs that cannot be decoded are left
    out and named. Where nothing names them, photographs are taken in the order
    of their names; the page then shows some beside their captions.

    Captions that systems made, with their references last, get a page of what
    each says of an image, sorted by where two of them differ most.

    Args:
        models: As those of "fivesentences evaluate": similarity [images, captions]; or IMAGES,TEXTS: embeddings; or a
            folder of 'embed'; or lists, I2T,t2i=T2I; NAME=... gives one a name. Or, without --captions, the files of
            "fivesentences captioning": CANDIDATES... REFERENCES, which --metric scores.
        out: The folder to write; an earlier page is replaced, anything else refused.
        quiet: No progress bar, print nothing.

    Examples:

        fivesentences look sims.npy --captions captions.txt --images photos/

        fivesentences look clip=a.npy mine=b.npy --captions captions.txt --images shard.tar --image-ids names.txt

        fivesentences look sims.npy --captions captions.txt --images photos.zip --query 17 --figure query.pdf

        fivesentences look a.json b.json annotations.json --images val2014/ --metric cider,words
    """
    _check(page, out)
    if inputs.captions is None and are_captions(models):
        _of_captions(models, inputs, page, out)
        return
    read = OpenedOnce()
    models, notes = (models, []) if inputs.transposed else with_pairs(models, read)
    given = inputs.given(models, None)
    files = [file for model in given.models for _, file in model.read] + [file for _, file in inputs.read]
    if page.figure is not None:
        check_outputs({"--figure": page.figure}, [file for file in files if file is not None])
    if given.captions is None:
        raise InputError("a page shows captions; give them by --captions FILE.")
    report = _report(given, inputs, page, read)
    report.notes += [*notes, *given.notes]
    if page.figure is not None and page.query is not None:
        from fivesentences.pages.figures import save_figure

        save_figure(report.query_figure(page.query), page.figure)
        print(page.figure)
        return
    said = report.write(out, queries=page.queries, seed=page.seed)
    print("\n".join([str(out / PAGE), *said]))


def _check(page: Shown, out: Path) -> None:
    if (page.query is None) != (page.figure is None):
        raise InputError("--query chooses what --figure draws; give both, or neither for a page.")
    if page.figure is None:
        check_folder(out)
    else:
        check_format(page.figure)


def are_captions(files: Sequence[str]) -> bool:
    """Return True for files of captions, the last of which are the references."""
    paths = [Path(named(file)[1]) for file in files]
    texts = [path.suffix in TEXTS and path.is_file() for path in paths]
    return len(paths) > 1 and all(texts) and not any(map(is_lists, paths[:-1]))


def _of_captions(files: Sequence[str], inputs: ModelInputs, page: Shown, out: Path) -> None:
    """Write the page of captions that systems made."""
    if page.query is not None:
        raise InputError(
            "it draws the answers to a query, and these are captions", where="--query", cure="leave it out"
        )
    others = replace(inputs, metric=None, image_of_caption=None)
    if others != ModelInputs() or page.caption_ids is not None:
        raise InputError("of captions, look takes --metric, --image-of-caption, --images and --image-ids alone.")
    with working("score captions"):
        found = score_systems(files, inputs.metric or default_metrics(), image_of_caption=inputs.image_of_caption)
    one, n_images = found.captioned, found.captioned.sizes[1]
    pictures: Pictures | None = None
    if page.images:
        is_named = list(one.images) != [str(place) for place in one.place_of_image]
        names: list[str] | None = list(one.images) if is_named else None
        named_by = Path(files[-1]).name if is_named else ""
        if page.image_ids is not None:
            ids = read_list(page.image_ids, n_images, "ids", "images") or []
            names, named_by = [ids[place] for place in one.place_of_image], page.image_ids.name
        with working("find photographs"):
            pictures = pictures_of(page.images, n_images if names is None else len(names), names, named_by)
        if names is None:
            in_order = pictures.files
            pictures = replace(pictures, files=[in_order[place] for place in one.place_of_image])
    titles = {name: metric.title for name, metric in found.about.items()}
    titles = titles if len(set(titles.values())) == len(titles) else {name: name for name in titles}
    scores = {name: {titles[metric]: own for metric, own in of.items()} for name, of in found.scores.items()}
    tests = None
    if len(scores) > 1:
        tests = compare_captions(found.scores)
        tests["metric"] = tests["metric"].map(titles)
    shown = Captioned(one.images, one.references, found.captions, scores, tests, [*found.notes, found.ranges], pictures)
    print("\n".join([str(out / PAGE), *write_captions_page(shown, out, page.queries, page.seed)]))


def default_metrics() -> list[str]:
    """Return the metrics by which captions are scored by default: CIDEr, and word vectors where they are installed."""
    return ["cider", *(["words"] if len(default_phis()[0]) > 1 else [])]


def _report(given: Given, inputs: ModelInputs, page: Shown, read: OpenedOnce) -> Report:
    """Read and score the models; one similarity at a time is in memory, and that of the first."""
    ids = page.image_ids, page.caption_ids
    with working(f"read {given.models[0].words}"):
        whole, notes, lines = inputs.gallery(given, None, read, ids=ids)
    assert given.captions is not None
    if lines is None:
        raise InputError("these captions are not those of the similarity.", where=given.captions)
    names, named_by = _names(given, page, whole.n_images)
    pictures: Pictures | None = None
    if page.images:
        with working("find photographs"):
            pictures = pictures_of(page.images, whole.n_images, names, named_by)
    texts = captions_of(whole, lines, given.captions)
    report = Report(whole, texts, k=page.k, pictures=pictures, ids=names)
    report.notes += notes
    reach = max(report.ks)
    for at, model in enumerate(given.models):
        with working(f"score {model.words}"):
            gallery = whole if at == 0 else inputs.another(model, whole, read, ids, reach)[0]
            t2i = None if model.t2i is None or model.is_lists else inputs.another(model.t2i, whole, read, ids)[0]
            report.add(model.name, gallery, t2i)
    return report


def _names(given: Given, page: Shown, n_images: int) -> tuple[list[str] | None, str]:
    """Return the name of each image, and what says it; None where nothing does."""
    if page.image_ids is not None:
        return read_list(page.image_ids, n_images, "ids", "images"), page.image_ids.name
    assert given.captions is not None
    table = read_captioned(given.captions)
    if table.is_named and given.image_of_caption is None and len(table.images) == n_images:
        return table.images, given.captions.name
    return None, ""
