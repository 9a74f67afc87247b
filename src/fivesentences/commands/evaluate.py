"""`fivesentences evaluate`: every number of a model's similarity matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.annotations import Annotations
from fivesentences.commands.embedded import scored_by
from fivesentences.commands.exports import Runs, checked_query_file, write_queries
from fivesentences.commands.given_models import Model, Surroundings, models_of
from fivesentences.commands.model_sheets import content_of_models, model_sheets, tidy_of_models
from fivesentences.commands.provenance import files_of, now, provenance
from fivesentences.commands.score_sheets import labelled, sheets
from fivesentences.commands.sheets import Outputs, quietly
from fivesentences.errors import InputError

if TYPE_CHECKING:
    from fivesentences.evaluation.protocols import Scorer
    from fivesentences.metrics import Evaluation
    from fivesentences.retrieval import Gallery

GALLERY = ("protocol", "images", "captions", "galleries", "file_images", "file_captions", "tie_rule")
ALL_OR_R: Mapping[str, str | None] = {"all": None, "R": "R"}  # cut-offs of mAP that are no numbers


class IdealPool(StrEnum):
    """Whose phi NCS's ideal is taken over."""

    GALLERY = "gallery"
    GIVEN_ROWS = "given_rows"


def evaluate(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help=f"similarity {given.SHAPE}, {given.MATRIX}; or IMAGES,TEXTS: embeddings "
            r"\[images, dim] and \[captions, dim]; or a folder of 'embed'; NAME=... gives it a name",
        ),
    ],
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
    ks: Annotated[str, typer.Option("--ks", help="cut-offs: how many first items of a ranking count")] = "1,5,10",
    ms: Annotated[str, typer.Option("--ms", help="semantic recall's m: size of its relevant set")] = "1,2,3",
    everything: Annotated[
        bool, typer.Option("--all", help="all variants: formulas, styles, weights, tie rules, hubs")
    ] = False,
    soft: Annotated[bool, typer.Option("--soft", help="also semantic recall weighted by phi")] = False,
    discounted: Annotated[bool, typer.Option("--discounted", help="also NCS with a logarithmic discount")] = False,
    ncs_ms: Annotated[
        str | None,
        typer.Option("--ncs-ms", help="also the paper's NCS, with relevant sets of these sizes; k means the cut-off"),
    ] = None,
    ideal_pool: Annotated[
        IdealPool,
        typer.Option(
            metavar="NAME",
            help="captions among which NCS looks for the best possible items: gallery, or given_rows: every row of phi",
        ),
    ] = IdealPool.GALLERY,
    hubness: Annotated[
        bool, typer.Option("--hubs", help="report hubs, items that are nearest to many queries")
    ] = False,
    hub_ks: Annotated[str, typer.Option("--hub-ks", help="hubs: how many first items of a ranking count")] = "1",
    asp: Annotated[bool, typer.Option(help="report ASP, whole rankings against phi; takes longest")] = True,
    categories: Annotated[
        Path | None, typer.Option(metavar="FILE", help="category of each image, one per line: mAP, R-precision")
    ] = None,
    map_cutoffs: Annotated[
        str, typer.Option("--map-cutoffs", help="cut-offs of mAP by category: all, R or a number such as 100")
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
    mean: Annotated[bool, typer.Option("--mean", help="also score by the mean of all phi, as in ASP(A)")] = False,
    comparing: Annotated[
        bool, typer.Option("--compare/--no-compare", help="test whether several models differ")
    ] = True,
    against: Annotated[
        str | None, typer.Option(metavar="NAME", help="compare with this model alone; default: every pair")
    ] = None,
    resamples: Annotated[int, typer.Option(min=1, help="number of sign flips of the tests")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="seed of the sign flips")] = 0,
    per_query: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write every metric of every query, .csv or .parquet")
    ] = None,
    trec: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="write runs and qrels for ranx, trec_eval and ir-measures")
    ] = None,
    trec_depth: Annotated[str, typer.Option(metavar="N", help="items of each ranking in these runs, or all")] = "100",
    transposed: given.Transposed = False,
    json_out: given.Json = None,
    csv: given.Csv = None,
    markdown: given.Markdown = None,
    latex: given.Latex = None,
    quiet: given.Quiet = False,
) -> None:
    """Score a model: recall, ranks, and with phi also NCS, semantic recall and ASP.

    A similarity has one row per image and one column per caption; larger is
    more similar, and equal scores are ordered by index, lower first. Embeddings
    are compared by their cosine; images that are repeated once per caption are
    recognised. Without phi, only recall is reported. All metrics are explained
    by "fivesentences metrics".

    A folder of "fivesentences embed" says which captions were embedded: the
    notes repeat it, and other captions, phi of others, or models of others are
    refused. --metric then needs no --captions.

    Several models of the same images and captions share a table, and are
    compared by the tests of "fivesentences compare", with p after Holm's
    correction.
    Two files alone may also be the embeddings of one model.

    Examples:

        fivesentences evaluate sims.npy --phi cider.npy --phi spice.npy

        fivesentences evaluate sims.npy --captions captions.txt --json out.json

        fivesentences evaluate image_emb.npy text_emb.npy --dataset coco-5k

        fivesentences evaluate a.npy b.npy ours=img.npy,txt.npy --csv all.csv

        fivesentences evaluate sims.npy --trec runs --per-query queries.csv
    """
    from fivesentences.evaluation import gallery_files
    from fivesentences.evaluation.comparing import compare_all
    from fivesentences.evaluation.protocols import Scorer, protocol_named
    from fivesentences.evaluation.result_files import subject_of

    runs = None if trec is None else Runs(trec, given.numbers_of(trec_depth, "--trec-depth", {"all": None})[0])
    query_file = None if per_query is None else checked_query_file(per_query)
    cutoffs, sizes = given.numbers_of(ks, "--ks"), given.numbers_of(ms, "--ms")
    of_hubs, of_map = given.numbers_of(hub_ks, "--hub-ks"), given.numbers_of(map_cutoffs, "--map-cutoffs", ALL_OR_R)
    of_ncs = None if ncs_ms is None else given.numbers_of(ncs_ms, "--ncs-ms", {"k": None})
    if json_out is not None:
        now()  # refuses a SOURCE_DATE_EPOCH that is no time, before anything is computed
    if metric and captions is None and not any(Path(one.rpartition("=")[2]).is_dir() for one in models):
        raise InputError("--metric says which phi of --captions; give the captions, or a matrix with --phi.")
    if mean and len(phi or ()) + (len(metric or ("cider",)) if captions or metric else 0) < 2:
        raise InputError("--mean averages several phi; give at least two.")
    protocol = None if dataset is None else protocol_named(dataset)
    annotations = Annotations(categories, labels, instances, eccv, cxc, image_ids, caption_ids, protocol)
    annotations.check()
    known = Surroundings(transposed, protocol, _captions(phi, captions, image_of_caption), image_of_caption is not None)
    found, notes = models_of(models, known)
    first, several = found[0], len(found) > 1
    scored = scored_by(found, captions, image_of_caption, protocol)
    notes += scored.notes
    known_captions, image_of_caption = scored.captions, scored.image_of_caption
    if metric:
        captions = captions or known_captions
    if against is not None and not (several and comparing):
        raise InputError("it says with which of several models the others are compared.", where="--against")
    if against is not None and against not in [model.name for model in found]:
        names = ", ".join(model.name for model in found)
        raise InputError(f"it is '{against}', which is none of the models: {names}.", where="--against")
    of_runs = {} if runs is None else runs.files([model.name for model in found])
    inputs = [
        *(("similarity" if model.text is None else "embeddings", file) for model in found for file in model.files),
        *files_of("phi", phi), ("captions", captions), ("image_of_caption", image_of_caption),
        ("categories", categories), ("labels", labels), ("instances", instances), ("cxc", cxc),
        ("image_ids", image_ids), ("caption_ids", caption_ids),
    ]  # fmt: skip
    outputs = Outputs.of(json_out, csv, markdown, latex, quiet, inputs, {"--per-query": query_file, **of_runs})
    with quietly(quiet):
        with given.working(f"read {first.matrix}" if first.text is None else "cosine similarity"):
            gallery, more = gallery_files.read_gallery(
                first.matrix,
                first.text,
                transposed=transposed,
                image_of_caption=image_of_caption,
                protocol=protocol,
                phis=phi or (),
                captions=known_captions,
                more_rows=ideal_pool == IdealPool.GIVEN_ROWS,
            )
        notes += more
        further, on_order = annotations.read(gallery, known_captions)
        notes += on_order
        if runs is not None:
            runs.name_items(gallery, image_ids, caption_ids)
        if captions is not None:
            gallery = gallery_files.with_computed_phis(gallery, captions, metric or ["cider"])
        if mean:
            from fivesentences.metrics import mean_phi

            if "mean" in gallery.phis:
                raise InputError(
                    "--mean calls its phi 'mean', and there is a phi of that name; name it otherwise: --phi NAME=FILE."
                )
            notes.append(f"phi mean: the mean of {', '.join(gallery.phis)}, not scaled.")
            gallery = gallery.and_phis({"mean": mean_phi(list(gallery.phis.values()))})
        scorer = Scorer(
            gallery,
            dataset,
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
            **further,
        )
        only = None if several else gallery
        del gallery  # of several models one similarity at a time is in memory
        queries = query_file is not None or (several and comparing)
        results = score_models(scorer, found, only, notes, transposed=transposed, queries=queries, runs=runs)
        tests = None
        if several and comparing:
            n_pairs = len(found) - 1 if against else len(found) * (len(found) - 1) // 2
            with given.working(f"compare {len(found)} models", n_pairs) as advance:
                tests = compare_all(
                    results, scorer.whole.image_of_caption,
                    against=against, resamples=resamples, seed=seed, progress=advance,
                )  # fmt: skip
        if query_file is not None:
            n_frames = sum(len(result.queries) for result in results.values())
            with given.working(f"write {query_file}", n_frames) as advance:
                of_models = {model.words: results[model.name] for model in found}
                subject = subject_of(scorer.whole, results[first.name].about, scored.about)
                write_queries(query_file, of_models, several, advance, subject)
        made = {}
        if json_out is not None:
            with given.working("digests of the inputs"):
                made = provenance(inputs)
    if runs is not None:
        notes.append(runs.words)
    result = results[first.name]
    about = result.about
    made = {**({"scored": scored.about} if scored.about else {}), **made}
    if not several:
        tidy = labelled(result.tidy(), {"file": about["similarity"], **{key: about[key] for key in GALLERY}})
        outputs.write(sheets(result, notes), tidy, {**about, **made, "values": result.values})
        return
    notes = list(dict.fromkeys(notes))
    labels_of = {"file": {name: one.about["similarity"] for name, one in results.items()}}
    tidy = tidy_of_models(results, tests, {**labels_of, **{key: about[key] for key in GALLERY}})
    content = {**about, **made, **content_of_models(results, tests)}
    del content["similarity"]
    outputs.write(model_sheets(results, tests, against, notes), tidy, content)


def score_models(
    scorer: Scorer,
    models: Sequence[Model],
    only: Gallery | None,
    notes: list[str],
    *,
    transposed: bool,
    queries: bool,
    runs: Runs | None,
) -> dict[str, Evaluation]:
    """The numbers of every model, by its name; its runs are written on the way.

    Args:
        scorer: Scores a gallery of the images and captions of all models.
        models: The models.
        only: The gallery of the only model; None if there are several, which are then read one after the other.
        notes: Sentences on the models are added.
        transposed: Whether the rows of similarities are captions.
        queries: Whether to keep the values of all queries.
        runs: Where to write runs; None for none.
    """
    if only is None:
        with given.working("check the models", len(models) - 1) as advance:  # before anything is computed
            for model in models[1:]:
                notes += _read_another(scorer, model, transposed)[1]
                advance()
    results: dict[str, Evaluation] = {}
    whole, folds = scorer.whole, len(scorer.parts)
    size = f"{whole.n_images:,} images, {whole.n_captions:,} captions, {len(whole.phis)} phi"
    for model in models:
        if only is None:
            with given.working(f"read {model.words}"):
                gallery = _read_another(scorer, model, transposed)[0]
        else:
            gallery = only
        with given.working(f"score {model.words}, {size}", folds) as advance:
            results[model.name] = scorer(gallery, queries=queries, progress=advance)
        results[model.name].about["similarity"] = model.words
        if runs is not None:
            with given.working(f"write {runs.folder}", 2 * folds) as advance:
                runs.write(scorer, gallery, model.name, advance)
        del gallery
    return results


def _read_another(scorer: Scorer, model: Model, transposed: bool) -> tuple[Gallery, list[str]]:
    """The similarity of another model of the same images and captions, checked, and sentences on it."""
    from fivesentences.evaluation.gallery_files import notes_on_constant_scores, read_scores

    matrix, notes = read_scores(model.matrix, model.text, transposed=transposed)
    gallery = scorer.whole.with_similarity(matrix, model.matrix)
    return gallery, [*notes, *notes_on_constant_scores(gallery)]


def _captions(
    phi: Sequence[str] | None, captions: Path | None, image_of_caption: Path | None
) -> list[Callable[[], int]]:
    """How many captions there are, by every option that says so."""
    from fivesentences.evaluation.matrix_files import read_matrix
    from fivesentences.semantics.caption_file import read_captions

    counts: list[Callable[[], int]] = []
    counts += [partial(_rows_of, read_matrix, file) for _, file in files_of("phi", phi)]
    counts += [partial(_rows_of, read_captions, file) for file in (captions, image_of_caption) if file is not None]
    return counts


def _rows_of(read: Callable[[Any], Any], file: Path | str | None) -> int:
    return len(read(file))
