"""`fivesentences look`: a page on which a model can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands.annotations import read_list
from fivesentences.commands.arguments import Quiet
from fivesentences.commands.exports import check_format
from fivesentences.commands.model_inputs import Given, ModelInputs, with_pairs
from fivesentences.console import working
from fivesentences.errors import InputError
from fivesentences.evaluation.gallery_files import captions_of
from fivesentences.evaluation.matrix_files import OpenedOnce
from fivesentences.pages.page import PAGE, check_folder
from fivesentences.pages.pictures import Pictures, pictures_of
from fivesentences.pages.report import Report
from fivesentences.semantics.caption_file import read_captioned
from fivesentences.storage import check_outputs


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

    Args:
        models: As those of "fivesentences evaluate": similarity [images, captions]; or IMAGES,TEXTS: embeddings; or a
            folder of 'embed'; or lists, I2T,t2i=T2I; NAME=... gives one a name.
        out: The folder to write; an earlier page is replaced, anything else refused.
        quiet: No progress bar, print nothing.

    Examples:

        fivesentences look sims.npy --captions captions.txt --images photos/

        fivesentences look clip=a.npy mine=b.npy --captions captions.txt --images shard.tar --image-ids names.txt

        fivesentences look sims.npy --captions captions.txt --images photos.zip --query 17 --figure query.pdf
    """
    _check(page, out)
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
