"""`fivesentences evaluate`: every number of a model's similarity matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from fivesentences.commands.annotations import Annotations
from fivesentences.commands.arguments import Resampling, numbers_of
from fivesentences.commands.exports import Exports
from fivesentences.commands.given_models import Model, ModelInputs
from fivesentences.commands.score_sheets import content_of_models, labelled, model_sheets, sheets, tidy_of_models
from fivesentences.commands.sheets import Outputs
from fivesentences.console import working
from fivesentences.errors import InputError, need
from fivesentences.evaluation.comparing import compare_all
from fivesentences.evaluation.gallery_files import notes_on_constant_scores, read_scores
from fivesentences.evaluation.model_card import write_model_card
from fivesentences.evaluation.protocols import ProtocolScorer
from fivesentences.evaluation.result_files import subject_of
from fivesentences.metrics import Evaluation, mean_phi
from fivesentences.retrieval import Gallery
from fivesentences.retrieval.rescoring import Inference

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


def evaluate(
    models: Annotated[list[str], typer.Argument(metavar="MODEL")],
    *,
    inputs: ModelInputs,
    annotations: Annotations,
    metrics: Metrics,
    tests: Resampling,
    exports: Exports,
    outputs: Outputs,
    comparing: Annotated[bool, typer.Option("--compare/--no-compare")] = True,
    against: str | None = None,
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

    Args:
        models: Similarity [images, captions], .npy, .npz, .json, .csv or .pt; or IMAGES,TEXTS: embeddings [images, dim]
            and [captions, dim]; or a folder of 'embed'; NAME=... gives it a name.
        comparing: Test whether several models differ.
        against: Compare with this model alone; default: every pair.

    Examples:

        fivesentences evaluate sims.npy --phi cider.npy --phi spice.npy

        fivesentences evaluate sims.npy --captions captions.txt --json out.json

        fivesentences evaluate image_emb.npy,text_emb.npy --dataset coco-5k

        fivesentences evaluate a.npy b.npy ours=img.npy,txt.npy --csv all.csv

        fivesentences evaluate sims.npy --inference csls,k=10

        fivesentences evaluate sims.npy --trec runs --per-query queries.csv
    """
    options, inference, protocol = metrics.of_evaluator(), Inference.of(metrics.inference), annotations.protocol
    annotations.check()
    if metrics.mean and len(inputs.phi or ()) + len(inputs.computed) < 2:
        raise InputError("--mean averages several phi; give at least two.")
    given = inputs.given(models, protocol)
    names = [model.name for model in given.models]
    compared = comparing and len(names) > 1
    if against is not None and not compared:
        raise InputError("it says with which of several models the others are compared.", where="--against")
    if against is not None and against not in names:
        raise InputError(f"it is '{against}', which is none of the models: {', '.join(names)}.", where="--against")
    if exports.model_card is not None:
        need("huggingface_hub", "encoders", "--model-card")
        if protocol is None or len(names) > 1:
            raise InputError("--model-card is about one model on one data set; give one, and --dataset.")
    read = [*(file for model in given.models for file in model.read), *inputs.read, *annotations.read_files]
    outputs.check(read, exports.files(names))
    with working(f"read {given.models[0].words}"):
        gallery, notes = inputs.gallery(given, protocol, more_rows=metrics.ideal_pool == "given_rows")
    further, on_order = annotations.read(gallery, given.captions)
    notes = [*given.notes, *notes, *on_order]
    if metrics.mean:
        if "mean" in gallery.phis:
            raise InputError("--mean adds a phi 'mean', and there is a phi of that name; rename it: --phi NAME=FILE.")
        notes.append(f"phi mean: the mean of {', '.join(gallery.phis)}, not scaled.")
        gallery = gallery.and_phis({"mean": mean_phi(list(gallery.phis.values()))})
    scorer = ProtocolScorer(gallery, annotations.dataset, **options, **further)
    export = exports.writer(scorer, inference, names, annotations)
    queries = compared or exports.per_query is not None
    results, more = score_models(scorer, given.models, gallery, inputs.transposed, queries, inference, export)
    notes = list(dict.fromkeys([*notes, *more, *exports.notes]))
    tested, first = None, results[names[0]]
    if compared:
        n_pairs = len(names) - 1 if against else len(names) * (len(names) - 1) // 2
        with working(f"compare {len(names)} models", n_pairs) as advance:
            tested = compare_all(
                results, scorer.whole.image_of_caption,
                against=against, resamples=tests.resamples, seed=tests.seed, progress=advance,
            )  # fmt: skip
    of_files = {model.words: results[model.name] for model in given.models}
    exports.write_queries(of_files, subject_of(scorer.whole, first.about, given.about))
    about = first.about | ({"scored": given.about} if given.about else {})
    labels = {key: about[key] for key in GALLERY}
    if exports.model_card is not None:
        write_model_card(first, names[0], exports.model_card)
    if len(names) == 1:
        tidy = labelled(first.tidy(), {"file": about["similarity"], **labels})
        outputs.write(sheets(first, notes), tidy, about | {"values": first.values}, read)
        return
    del about["similarity"]
    tidy, content = tidy_of_models(results, tested, labels), about | content_of_models(results, tested)
    outputs.write(model_sheets(results, tested, against, notes), tidy, content, read)


def score_models(
    scorer: ProtocolScorer,
    models: Sequence[Model],
    gallery: Gallery,
    transposed: bool,
    queries: bool,
    inference: Inference | None = None,
    export: Callable[[str, Gallery], None] | None = None,
) -> tuple[dict[str, Evaluation], list[str]]:
    """Score every model; one similarity at a time is in memory, and that of the first model.

    Args:
        scorer: Scores a gallery of the images and captions of all models.
        models: The models.
        gallery: The gallery of the first model.
        transposed: True if the rows of similarities are captions.
        queries: True to keep the values of all queries.
        inference: How each gallery is read; default: as it is.
        export: Called with the name of each model and its gallery.

    Returns:
        The numbers of every model by its name, and sentences on the models.
    """
    inference = inference or Inference()

    def another(model: Model) -> tuple[Gallery, list[str]]:
        matrix, notes = read_scores(model.matrix, model.text, transposed=transposed)
        similar = scorer.whole.with_similarity(matrix, model.matrix)
        return similar, [*notes, *notes_on_constant_scores(similar)]

    notes: list[str] = []
    results: dict[str, Evaluation] = {}
    with working("check the models", len(models) - 1) as advance:  # before anything is computed
        for model in models[1:]:
            notes += another(model)[1]
            advance()
    size = f"{gallery.n_images:,} images, {gallery.n_captions:,} captions, {len(gallery.phis)} phi"
    for model in models:
        if results:
            with working(f"read {model.words}"):
                gallery = another(model)[0]
        with working(f"score {model.words}, {size}", len(scorer.parts)) as advance:
            results[model.name] = found = scorer(gallery, inference=inference, queries=queries, progress=advance)
        found.about["similarity"] = model.words
        if export is not None:
            export(model.name, gallery)
    return results, notes if inference.method == "naive" else [*notes, inference.note]
