"""`fivesentences evaluate`: every number of a model's similarity matrix."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from fivesentences.arrays import Unheld
from fivesentences.commands.annotations import Annotations
from fivesentences.commands.arguments import Resampling, named, numbers_of
from fivesentences.commands.exports import Exports
from fivesentences.commands.model_inputs import T2I, Given, Model, ModelInputs, with_pairs, with_parts
from fivesentences.commands.model_rows import Rows
from fivesentences.commands.score_sheets import (
    CHANCE,
    content_of_models,
    labelled,
    model_sheets,
    sheets,
    tidy_of_models,
)
from fivesentences.commands.sheets import STDOUT, Outputs
from fivesentences.console import working
from fivesentences.errors import InputError, need
from fivesentences.evaluation.gallery_files import captions_of
from fivesentences.evaluation.item_lists import is_lists
from fivesentences.evaluation.matrix_files import OpenedOnce
from fivesentences.evaluation.parts import gallery_of_parts, queries_named, write_part
from fivesentences.evaluation.protocols import PROTOCOLS, ProtocolScorer
from fivesentences.evaluation.query_tests import compare_all, unlike
from fivesentences.evaluation.result_files import Result, read_queries, subject_of
from fivesentences.machine import device_named
from fivesentences.metrics import Evaluation, mean_phi
from fivesentences.metrics.result import ABOVE_CHANCE
from fivesentences.metrics.sheet import Sheet
from fivesentences.pages.curves import Curves
from fivesentences.retrieval import Gallery
from fivesentences.retrieval.products import Products
from fivesentences.retrieval.rescoring import Inference
from fivesentences.semantics.phi_file import captions_sha256
from fivesentences.storage import together

GALLERY = ("protocol", "images", "captions", "galleries", "file_images", "file_captions", "tie_rule")


@dataclass(frozen=True)
class Metrics:
    """Which numbers are reported, and how the similarity is read.

    Attributes:
        inference: Re-score each gallery first: csls,k=10 or inverted_softmax,beta=30 or assignment.
        ks: Cut-offs: how many first items of a ranking count.
        ms: Semantic recall's m: size of its relevant set.
        everything: All variants: formulas, styles, weights, tie rules, hubs.
        soft: Also semantic recall weighted by phi.
        discounted: Also NCS with a logarithmic discount.
        ncs_ms: Also the paper's NCS, with relevant sets of these sizes; k means the cut-off.
        ideal_pool: Captions among which NCS looks for the best possible items; given_rows: every row of phi.
        hubness: Report hubs, items that are nearest to many queries.
        hub_ks: How many first items of a ranking count for hubs.
        asp: Report ASP, whole rankings against phi; takes longest.
        map_cutoffs: Cut-offs of mAP by category: all, R or a number such as 100.
        mean: Also score by the mean of all phi, as in ASP(A).
        above_chance: Rescale every number so that a random ranking reaches 0 and the best value 100 (or 1).
    """

    inference: str = "naive"
    ks: str = "1,5,10"
    ms: str = "1,2,3"
    everything: Annotated[bool, typer.Option("--all")] = False
    soft: bool = False
    discounted: bool = False
    ncs_ms: str | None = None
    ideal_pool: Literal["gallery", "given_rows"] = "gallery"
    hubness: Annotated[bool, typer.Option("--hubs")] = False
    hub_ks: str = "1"
    asp: bool = True
    map_cutoffs: str = "all,R"
    mean: bool = False
    above_chance: bool = False

    def of_evaluator(self) -> dict[str, Any]:
        """Return arguments of ``ProtocolScorer``.

        Raises:
            typer.BadParameter: If a list of numbers holds something else.
        """
        every, of_hubs = self.everything, numbers_of(self.hub_ks, "--hub-ks")
        of_ncs = None if self.ncs_ms is None else numbers_of(self.ncs_ms, "--ncs-ms", {"k": None})
        return {
            "ks": numbers_of(self.ks, "--ks"),
            "ms": numbers_of(self.ms, "--ms"),
            "formulas": ("released", "paper") if every or of_ncs else ("released",),
            "styles": ("recall", "vse_recall") if every else ("recall",),
            "weightings": ("hard", "soft") if self.soft or every else ("hard",),
            "discounts": (None, "log") if self.discounted or every else (None,),
            "ncs_ms": of_ncs or (None,),
            "ideal_pool": self.ideal_pool,
            "asp_ties": () if not self.asp else ("index", "average") if every else ("index",),
            "hubness": self.hubness or every or of_hubs != (1,),
            "hub_ks": of_hubs,
            "category_cutoffs": numbers_of(self.map_cutoffs, "--map-cutoffs", {"all": None, "R": "R"}),
        }


@together()  # numbers, rankings and tables of two models must not lie beside each other
def evaluate(
    models: Annotated[list[str], typer.Argument(metavar="MODEL")],
    *,
    inputs: ModelInputs,
    annotations: Annotations,
    metrics: Metrics,
    tests: Resampling,
    exports: Exports,
    rows: Rows,
    outputs: Outputs,
    comparing: Annotated[bool, typer.Option("--compare/--no-compare")] = True,
    against: str | None = None,
    queries: Annotated[str | None, typer.Option(metavar="FIRST:STOP|PART/PARTS")] = None,
    device: Literal["cpu", "cuda"] = "cpu",
) -> None:
    """Score models and compare them: recall, ranks, and with phi also NCS, semantic recall and ASP.

    A similarity has one row per image and one column per caption; larger is
    more similar, and equal scores are ordered by index, lower first. Embeddings
    are compared by their cosine; images that are repeated once per caption are
    recognised, and so are two files of embeddings that are separated by a space.
    Without phi, only recall is reported. All metrics are explained by
    "fivesentences metrics".

    A folder of "fivesentences embed" says which captions were embedded: the
    notes repeat it, and other captions, phi of others, or models of others are
    refused. --metric then needs no --captions.

    Embeddings of many images are read in blocks: no matrix is held, and metrics
    of whole rankings are left out. Lists of first items tell every metric whose
    cut-off they reach; --image-ids and --caption-ids name their images and
    captions where these are not numbers.

    Several models of the same images and captions share a table, and are
    compared by tests that are paired by query: an image and its captions are one
    cluster, which is flipped or drawn together. FILE.parquet of --per-query adds
    models that were scored before, on any machine; results of other images,
    captions, splits, protocols or phi are refused.

    Args:
        models: Similarity [images, captions], .npy, .npz, .json, .csv or .pt; or IMAGES,TEXTS: embeddings [images, dim]
            and [captions, dim]; or a folder of 'embed'; or .parquet of --per-query; or the first items of every query,
            I2T,t2i=T2I: TREC runs, .npz of indices and scores, .json of mteb, .parquet of query, item, score; NAME=...
            gives it a name, and ...,t2i=... scores caption queries by other files.
        comparing: Test whether several models differ.
        against: Compare with this model alone; default: every pair.
        queries: Score these images, from 0, and their captions alone, by embeddings, and write a part of the evaluation
            to --json; 2/7 is the second of seven parts. "evaluate part*.json" joins them to the numbers of all queries.
        device: Where embeddings are multiplied and ranked. cuda takes float32, read as by --in-blocks; scores apart by
            rounding alone may change places. phi stays on the processor.

    Examples:

        fivesentences evaluate sims.npy --phi cider.npy --phi spice.npy

        fivesentences evaluate sims.npy --captions captions.txt --json out.json

        fivesentences evaluate image_emb.npy,text_emb.npy --dataset coco-5k

        fivesentences evaluate a.npy b.npy ours=img.npy,txt.npy --csv all.csv

        fivesentences evaluate reranked_captions.npy,t2i=reranked_images.npy

        fivesentences evaluate clip=a.npy mine=b.npy --metrics R,Rsum --latex out.tex

        fivesentences evaluate sims.npy --phi spice.npy --beside five-sentences:flickr30k

        fivesentences evaluate sims.npy --inference csls,k=10

        fivesentences evaluate i2t.run,t2i=t2i.run --captions captions.txt

        fivesentences evaluate sims.npy --trec runs --per-query queries.parquet

        fivesentences evaluate sims.npy last_year.parquet --phi cider.npy

        fivesentences evaluate img.npy,txt.npy --captions captions.txt --queries 0:10000 --json part0.json

        fivesentences evaluate part*.json

        fivesentences evaluate img.npy,txt.npy --device cuda
    """
    annotations.check()
    accelerator = None
    if device != "cpu":
        accelerator, inputs = _accelerator(device, inputs), replace(inputs, in_blocks=True)
    rows.choices  # noqa: B018  # refuses an unknown one
    published = rows.published
    read_once = OpenedOnce()
    models, of_pairs = (models, []) if inputs.transposed else with_pairs(models, read_once)
    models = with_parts(models)
    paths = {text: Path(named(text.partition(T2I)[0])[1]) for text in models}
    files = {text: path for text, path in paths.items() if path.suffix == ".parquet" and not is_lists(path)}
    given = inputs.given([text for text in models if text not in files], annotations.protocol)
    options = (inputs, annotations, metrics, exports)
    if queries is not None:
        if any(options != default for options, default in ((annotations, Annotations()), (exports, Exports()))):
            raise InputError(
                "a part holds recall, ranks and phi; annotations and exports are of all queries", where="--queries"
            )
        _write_part(queries, given, inputs, metrics, outputs, read_once, accelerator)
        return
    if not given.models and options != (ModelInputs(), Annotations(), Metrics(), Exports()):
        raise InputError("every model was scored before; leave out what says how models are scored.")
    read = [*(("result", file) for file in files.values()), *(file for model in given.models for file in model.read)]
    read += [*inputs.read, *annotations.read_files]
    outputs.check(read, exports.files([model.name for model in given.models]), exports.trec)
    stored = {text: read_queries(file, named(text)[0]) for text, file in files.items()}
    to_score, found = iter(given.models), dict[str, Model | Result]()
    in_order = (one for text in models for one in (stored[text] if text in stored else [next(to_score)]))
    for one in in_order:
        if one.name in found:
            first, second = found[one.name].words, one.words
            what = f"two models are called '{one.name}' ({first} and {second})"
            raise InputError(what, cure=f"name them, such as A={first} B={second}")
        found[one.name] = one
    compared = comparing and len(found) > 1
    if against is not None and not compared:
        raise InputError("it says with which of several models the others are compared.", where="--against")
    if against is not None and against not in found:
        raise InputError(f"it is '{against}', which is none of the models: {', '.join(found)}.", where="--against")
    if CHANCE in found:
        cure = f"name it otherwise, such as mine={found[CHANCE].words}"
        raise InputError(f"a model is called '{CHANCE}', which is the row of a random ranking", cure=cure)
    if metrics.above_chance and stored:
        what = f"--above-chance needs chance, which {next(iter(files.values()))} does not hold"
        raise InputError(what, cure="give the similarities of all models")
    notes: list[str] = []
    if given.models:
        kept: dict[str, Any] = {"keep_queries": compared, "keep_subject": bool(stored), "accelerator": accelerator}
        scored, notes = _score(given, *options, read_once, **kept, several=len(found) > 1, rows=rows)
        notes = [*of_pairs, *notes]
        found |= scored
    results = [one for one in found.values() if isinstance(one, Result)]
    if metrics.above_chance:
        results = [replace(one, evaluation=one.evaluation.above_chance()) for one in results]
        notes.append(ABOVE_CHANCE)
    reference = results[0]
    for one in results if stored else ():
        reference.check_like(one)
        if how := one.evaluation.about.get("inference"):
            notes.append(f"{one.name}: re-scored within each gallery by {how}.")
    if published is not None and stored:
        known = PROTOCOLS.get(reference.evaluation.about["protocol"])
        published.check(str(rows.beside), known, *(reference.evaluation.about[key] for key in ("images", "captions")))
    tested, evaluations = None, {one.name: one.evaluation for one in results}
    if compared:
        n_pairs = len(found) - 1 if against else len(found) * (len(found) - 1) // 2
        with working(f"compare {len(found)} models", n_pairs) as advance:
            how_tested = dataclasses.asdict(tests) | {"against": against, "progress": advance}
            tested = compare_all(evaluations, reference.image_of_caption, **how_tested)
        notes += (
            unlike(evaluations, reference.image_of_caption) if stored else []
        )  # others are compared by their scores
    about = reference.evaluation.about | ({"scored": given.about} if given.about else {})
    labels = {key: about[key] for key in GALLERY}
    asked = [rows.sheet(evaluations, tested, notes)] if rows.asked else []

    def printed() -> Sheet:
        return rows.sheet(evaluations, tested, notes, spelled=True)

    if len(found) == 1:
        shown, files_of = asked or sheets(reference.evaluation, notes), {"file": about["similarity"], **labels}
        content = about | {"values": reference.evaluation.rows}
        outputs.write(shown, lambda: labelled(reference.evaluation.tidy(), files_of), content, read, printed)
        return
    del about["similarity"]
    content = about | content_of_models(evaluations, tested)
    shown = asked or model_sheets(evaluations, tested, notes)
    outputs.write(shown, lambda: tidy_of_models(evaluations, tested, labels), content, read, printed)


def _score(
    given: Given,
    inputs: ModelInputs,
    annotations: Annotations,
    metrics: Metrics,
    exports: Exports,
    read: OpenedOnce,
    *,
    keep_queries: bool,
    keep_subject: bool,
    accelerator: str | None,
    several: bool,
    rows: Rows,
) -> tuple[dict[str, Result], list[str]]:
    """Score models, and write what `exports` asks for; one similarity at a time is in memory, and that of the first.

    Returns:
        The numbers of every model by its name, and sentences on the models.
    """
    inference, protocol = Inference.of(metrics.inference), annotations.protocol
    options = metrics.of_evaluator()
    joined, about = list[Gallery](), dict(given.about)
    if any(model.is_parts for model in given.models):
        joined, about = _joined(given, inputs, annotations)
    with working(f"read {given.models[0].words}"):
        of_lists = {"ids": annotations.id_files}
        every_row = metrics.ideal_pool == "given_rows"
        if joined:
            gallery, notes, lines = joined[0], list[str](), None
        else:
            gallery, notes, lines = inputs.gallery(given, protocol, read, more_rows=every_row, **of_lists)
            _place(gallery, accelerator)
    if metrics.mean and len(gallery.phis) < 2:
        raise InputError("--mean averages several phi; give at least two.")
    if (published := rows.published) is not None:
        scored = (
            (protocol.gallery, protocol.gallery * protocol.captions // protocol.images) if protocol else gallery.shape
        )
        published.check(str(rows.beside), protocol, *scored)
    further, on_order = annotations.read(gallery, given.captions, lines)
    notes = [*given.notes, *notes, *on_order]
    if metrics.mean:
        if any(isinstance(phi, Unheld) for phi in gallery.phis.values()):
            raise InputError("--mean averages matrices, and phi is read in blocks", cure="give --whole")
        if "mean" in gallery.phis:
            raise InputError("--mean adds a phi 'mean', and there is a phi of that name; rename it: --phi NAME=FILE.")
        notes.append(f"phi mean: the mean of {', '.join(gallery.phis)}, not scaled.")
        gallery = gallery.and_phis({"mean": mean_phi(list(gallery.phis.values()))})
    scorer = ProtocolScorer(gallery, protocol, **options, **further)
    names = [model.name for model in given.models]
    write_rankings = exports.writer(scorer, inference, names, annotations) if exports.trec is not None else None

    def another(model: Model) -> tuple[Gallery, list[str]]:
        if joined:
            own = joined[list(given.models).index(model)]
            return replace(scorer.whole.with_similarity(own.similarity, model.matrix), notes=own.notes), []
        own, said = inputs.another(model, scorer.whole, read, annotations.id_files, max(options["ks"]))
        _place(own, accelerator)
        return own, said

    every = [part for model in given.models for part in ([model] if model.is_lists else model.parts)]
    with working("check the models", len(every) - 1) as advance:  # before anything is computed
        for part in every[1:]:
            notes += another(part)[1]
            advance()
    curves = None if exports.figure is None else Curves(gallery, protocol)
    evaluations: dict[str, Evaluation] = {}
    size = f"{gallery.n_images:,} images, {gallery.n_captions:,} captions, {len(gallery.phis)} phi"
    queries = keep_queries or exports.per_query is not None
    for model in given.models:
        if evaluations:
            with working(f"read {model.words}"):
                gallery = another(model)[0]
        t2i = None if model.t2i is None or model.is_lists else another(model.t2i)[0]
        with working(f"score {model.words}, {size}", len(scorer.parts)) as advance:
            how: dict[str, Any] = {"inference": inference, "queries": queries, "progress": advance}
            evaluations[model.name] = scorer(gallery, t2i=t2i, **how)
        evaluations[model.name].about["similarity"] = model.words
        if curves is not None:
            with working(f"draw {model.words}"):
                curves.add(model.name, gallery, t2i, inference)
        of = f"{model.name}: " if several else ""
        notes += [f"{of}{note}" for note in evaluations[model.name].about["notes"]]
        if write_rankings is not None:
            write_rankings(model.name, {"i2t": gallery, "t2i": t2i or gallery})
    if curves is not None and exports.figure is not None:
        curves.write(exports.figure)
    chance = scorer.by_chance()  # of a phi that is read in blocks, what scoring has read
    for one in evaluations.values():
        one.chance = chance
    subject: dict[str, Any] = {}
    if keep_subject or exports.per_query is not None:  # digests of phi take a while
        texts = None if lines is None else captions_of(gallery, lines, given.captions)
        known = {} if texts is None else {"captions_sha256": captions_sha256(texts)}
        subject = subject_of(scorer.whole, evaluations[model.name].about, known | about)
    owner = scorer.whole.image_of_caption
    results = {one.name: Result(one.name, one.words, evaluations[one.name], subject, owner) for one in given.models}
    if exports.per_query is not None:
        exports.write_queries({one.words: one.evaluation for one in results.values()}, subject)
    notes += [inference.note] if inference.method != "naive" else []
    notes += exports.notes if exports.trec is not None else []
    return results, list(dict.fromkeys(notes))


def _joined(given: Given, inputs: ModelInputs, annotations: Annotations) -> tuple[list[Gallery], dict[str, Any]]:
    """Join the parts of every model, and return facts about the captions that they were made of."""
    if other := [model.words for model in given.models if not model.is_parts]:
        what = f"{other[0]} is no part of an evaluation, and others are"
        raise InputError(what, cure="join the parts alone, with --per-query FILE.parquet, and give that file")
    if inputs != ModelInputs() or annotations != Annotations():
        raise InputError(
            "parts hold captions and phi, and are of one gallery; leave out what says how models are read."
        )
    with working(f"join {sum(len(model.files_of_parts) for model in given.models)} parts"):
        galleries, parts = gallery_of_parts([model.files_of_parts for model in given.models])
    return galleries, dict(parts[0].about)


def _accelerator(device: str, inputs: ModelInputs) -> str:
    """Return the device of torch that reads rankings.

    Raises:
        InputError: If torch or the device is missing, or matrices are to be held.
    """
    if inputs.in_blocks is False:
        raise InputError(f"--device {device} reads embeddings in blocks, and --whole holds them; leave one out.")
    need("torch", "train", f"--device {device}")
    return device_named(device)


def _place(gallery: Gallery, accelerator: str | None) -> None:
    """Have the rankings of a gallery read by a device of torch.

    Raises:
        InputError: If its similarity is not the product of float32 embeddings.
    """
    if accelerator is None:
        return
    if not isinstance(gallery.similarity, Products):
        what = f"--device multiplies embeddings on a GPU, and {gallery.name} is a similarity or lists"
        raise InputError(what, cure="give IMAGES,TEXTS, or leave --device out")
    if gallery.similarity.dtype != np.float32:
        what = "float64 or integers are among the embeddings, and a GPU multiplies float32"
        raise InputError(what, where=gallery.name, cure="save all as float32, or leave --device out")
    gallery.similarity.device = accelerator


def _write_part(
    queries: str,
    given: Given,
    inputs: ModelInputs,
    metrics: Metrics,
    outputs: Outputs,
    read: OpenedOnce,
    accelerator: str | None,
) -> None:
    """Write what the captions of some images contribute to the evaluation of a model."""
    if list(outputs.files) != ["json"] or str(outputs.json) == STDOUT or outputs.json is None:
        raise InputError("a part goes to a file alone", where="--queries", cure="give --json FILE, and no other output")
    if len(given.models) != 1 or given.models[0].t2i is not None or metrics.inference != "naive":
        raise InputError(
            "a part is of one model, as its embeddings are", where="--queries", cure="give one model alone"
        )
    (model,) = given.models
    outputs.check([*model.read, *inputs.read])
    with working(f"read {model.words}"):
        gallery, notes, lines = replace(inputs, in_blocks=True).gallery(given, None, read)
        _place(gallery, accelerator)
    images = queries_named(queries, gallery.n_images)
    scorer = ProtocolScorer(gallery, **metrics.of_evaluator())
    texts = None if lines is None else captions_of(gallery, lines, given.captions)
    about = ({} if texts is None else {"captions_sha256": captions_sha256(texts)}) | dict(given.about)
    whole = replace(gallery, notes=tuple(dict.fromkeys([*given.notes, *notes, *gallery.notes])))
    write_part(whole, scorer, images, outputs.json, model.words, about)
    if not outputs.quiet:
        left = gallery.n_images - (images.stop - images.start)
        which = f"images {images.start:,} to {images.stop - 1:,} and their captions"
        typer.echo(f"{outputs.json}: {which}; {left:,} images are in other parts.")
