"""`fivesentences evaluate`: every number of a model's similarity matrix."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.annotations import Annotations
from fivesentences.commands.score_sheets import labelled, sheets
from fivesentences.commands.sheets import Outputs, quietly
from fivesentences.errors import InputError

GALLERY = ("protocol", "images", "captions", "galleries", "file_images", "file_captions", "tie_rule")
ALL_OR_R: Mapping[str, str | None] = {"all": None, "R": "R"}  # cut-offs of mAP that are no numbers


class IdealPool(StrEnum):
    """Whose phi NCS's ideal is taken over."""

    GALLERY = "gallery"
    GIVEN_ROWS = "given_rows"


def evaluate(
    matrix: Annotated[
        Path, typer.Argument(metavar="SIMILARITY", help=f"{given.SHAPE}, {given.MATRIX}; or image embeddings")
    ],
    text: Annotated[
        Path | None,
        typer.Argument(metavar="TEXT_EMBEDDINGS", help=r"\[captions, dim]; then SIMILARITY is image embeddings"),
    ] = None,
    phi: given.Phi = None,
    captions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="captions, one per line, from which phi is computed")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="which phi of --captions (default cider); repeat for more"),
    ] = None,
    dataset: given.Dataset = None,
    image_of_caption: given.ImageOfCaption = None,
    ks: Annotated[str, typer.Option("--ks", help="cut-offs")] = "1,5,10",
    ms: Annotated[str, typer.Option("--ms", help="sizes of semantic recall's relevant set")] = "1,2,3",
    everything: Annotated[
        bool, typer.Option("--all", help="all variants: formulas, styles, weights, tie rules, hubs")
    ] = False,
    soft: Annotated[bool, typer.Option("--soft", help="also semantic recall weighted by phi")] = False,
    discounted: Annotated[bool, typer.Option("--discounted", help="also NCS with a logarithmic discount")] = False,
    ncs_ms: Annotated[
        str | None,
        typer.Option("--ncs-ms", help="also the paper's NCS with relevant sets of these sizes; k: the cut-off"),
    ] = None,
    ideal_pool: Annotated[
        IdealPool, typer.Option(metavar="NAME", help="captions of NCS's ideal: gallery, or given_rows of phi")
    ] = IdealPool.GALLERY,
    hubness: Annotated[bool, typer.Option("--hubs", help="report hubs")] = False,
    hub_ks: Annotated[str, typer.Option("--hub-ks", help="hubs among the first this many items")] = "1",
    asp: Annotated[bool, typer.Option(help="report ASP, which takes longest")] = True,
    categories: Annotated[
        Path | None, typer.Option(metavar="FILE", help="category of each image, one per line: mAP, R-precision")
    ] = None,
    map_cutoffs: Annotated[
        str, typer.Option("--map-cutoffs", help="of mAP by category: all, R or a number such as 100")
    ] = "all,R",
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=rf"0/1 matrix \[images, labels], {given.MATRIX}: PMRP"),
    ] = None,
    instances: Annotated[
        Path | None, typer.Option(metavar="FILE", help="COCO instances .json in place of --labels: PMRP")
    ] = None,
    eccv: Annotated[
        bool, typer.Option("--eccv", help="ECCV Caption and CxC recall, only for COCO's 5K test split")
    ] = False,
    cxc: Annotated[Path | None, typer.Option(metavar="FILE", help="CxC recall from sits_test.csv, by COCO ids")] = None,
    image_ids: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="COCO id of each image, one per line; default: Karpathy's order of COCO's test split"
        ),
    ] = None,
    caption_ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="COCO id of each caption, one per line; default as above")
    ] = None,
    mean: Annotated[bool, typer.Option("--mean", help="also the mean of all phi, as in ASP(A)")] = False,
    transposed: given.Transposed = False,
    json_out: given.Json = None,
    csv: given.Csv = None,
    markdown: given.Markdown = None,
    latex: given.Latex = None,
    quiet: given.Quiet = False,
) -> None:
    """Score a model: recall, ranks, and with phi also NCS, semantic recall and ASP.

    SIMILARITY has one row per image and one column per caption; larger is more
    similar, and equal scores are ordered by index, lower first. Embeddings are
    compared by their cosine; images that are repeated once per caption are
    recognised. Without phi, only recall is reported. All metrics are explained
    by "fivesentences metrics".

    Examples:

        fivesentences evaluate sims.npy --phi cider.npy --phi spice.npy

        fivesentences evaluate sims.npy --captions captions.txt --json out.json

        fivesentences evaluate image_emb.npy text_emb.npy --dataset coco-5k
    """
    from fivesentences.evaluation import evaluate as evaluated
    from fivesentences.evaluation import gallery_files
    from fivesentences.evaluation.protocols import protocol_named

    outputs = Outputs.of(json_out, csv, markdown, latex, quiet)
    cutoffs, sizes = given.numbers_of(ks, "--ks"), given.numbers_of(ms, "--ms")
    of_hubs, of_map = given.numbers_of(hub_ks, "--hub-ks"), given.numbers_of(map_cutoffs, "--map-cutoffs", ALL_OR_R)
    of_ncs = None if ncs_ms is None else given.numbers_of(ncs_ms, "--ncs-ms", {"k": None})
    if metric and captions is None:
        raise InputError("--metric says which phi of --captions; give the captions, or a matrix with --phi.")
    if mean and len(phi or ()) + (len(metric or ("cider",)) if captions else 0) < 2:
        raise InputError("--mean averages several phi; give at least two.")
    if text is not None and transposed:
        raise InputError("--transposed is about a similarity; give image embeddings first, then those of the captions.")
    protocol = None if dataset is None else protocol_named(dataset)
    annotations = Annotations(categories, labels, instances, eccv, cxc, image_ids, caption_ids, protocol)
    annotations.check()
    with quietly(quiet):
        with given.working(f"read {matrix}" if text is None else "cosine similarity"):
            gallery, notes = gallery_files.read_gallery(
                matrix,
                text,
                transposed=transposed,
                image_of_caption=image_of_caption,
                protocol=protocol,
                phis=phi or (),
                captions=captions,
                more_rows=ideal_pool == IdealPool.GIVEN_ROWS,
            )
        further, on_order = annotations.read(gallery, captions)
        notes += on_order
        if captions is not None:
            gallery = gallery_files.with_computed_phis(gallery, captions, metric or ["cider"])
        if mean:
            from fivesentences.metrics import mean_phi

            notes.append(f"phi mean: the mean of {', '.join(gallery.phis)}, not scaled.")
            gallery = gallery.and_phis({"mean": mean_phi(list(gallery.phis.values()))})
        size = f"{gallery.n_images:,} images, {gallery.n_captions:,} captions"
        what = f"score {matrix}, {size}, {len(gallery.phis)} phi"
        with given.working(what, protocol.folds if protocol else 1) as advance:
            result = evaluated(
                gallery,
                protocol=dataset,
                ks=cutoffs,
                ms=sizes,
                formulas=("released", "paper") if everything or of_ncs else ("released",),
                styles=("recall", "vse_recall") if everything else ("recall",),
                weightings=("hard", "soft") if soft or everything else ("hard",),
                discounts=(None, "log") if discounted or everything else (None,),
                ncs_ms=of_ncs or (None,),
                ideal_pool=ideal_pool,
                asp_ties=() if not asp else ("index", "average") if everything else ("index",),
                hubness=hubness or everything or of_hubs != (1,),
                hub_ks=of_hubs,
                category_cutoffs=of_map,
                progress=advance,
                **further,
            )
    about = result.about
    about["similarity"] = str(matrix) if text is None else f"{matrix}, {text}"
    tidy = labelled(result.tidy(), {"file": about["similarity"], **{key: about[key] for key in GALLERY}})
    outputs.write(sheets(result, notes), tidy, {**about, "values": result.values})
