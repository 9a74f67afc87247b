"""`fivesentences evaluate`: every number of a model's similarity matrix."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.annotations import Annotations
from fivesentences.commands.exports import Exports, write_queries
from fivesentences.commands.given_models import Inputs, Model, Scored, scored_by
from fivesentences.commands.score_sheets import content_of_models, labelled, model_sheets, sheets, tidy_of_models
from fivesentences.commands.sheets import Outputs, quietly
from fivesentences.console import working
from fivesentences.errors import InputError
from fivesentences.evaluation.comparing import compare_all
from fivesentences.evaluation.gallery_files import notes_on_constant_scores, read_scores
from fivesentences.evaluation.protocols import Scorer, rescored
from fivesentences.evaluation.result_files import subject_of
from fivesentences.metrics import Evaluation, mean_phi
from fivesentences.metrics.result import sums_of
from fivesentences.retrieval import INFERENCE, Gallery
from fivesentences.retrieval.arguments import DIRECTIONS
from fivesentences.retrieval.rescoring import PER_DIRECTION, TRANSDUCTIVE

GALLERY = ("protocol", "images", "captions", "galleries", "file_images", "file_captions", "tie_rule")
ALL_OR_R: Mapping[str, str | None] = {"all": None, "R": "R"}  # cut-offs of mAP that are no numbers


class IdealPool(StrEnum):
    """Captions over which NCS's ideal is taken."""

    GALLERY = "gallery"
    GIVEN_ROWS = "given_rows"


@dataclass(frozen=True)
class Inference:
    """An inference method and its settings.

    Attributes:
        method: A name in ``INFERENCE``.
        settings: Its options by name.
    """

    method: str = "naive"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str | None) -> Inference:
        """Parse METHOD[,NAME=VALUE...], such as ``csls,k=10``.

        Raises:
            InputError: If there is no such method or setting.
        """
        method, *settings = (text or "naive").split(",")
        if method not in INFERENCE:
            raise InputError(f"it is '{method}'; a method is one of {', '.join(INFERENCE)}.", where="--inference")
        known = [name for name in _settings_of(method) if name not in ("direction", "image_of_caption", "out")]
        found: dict[str, Any] = {}
        for setting in settings:
            name, equals, value = setting.partition("=")
            if not equals or name not in known:
                listed = ", ".join(known) or "none"
                raise InputError(f"{method} has no setting '{name}'; its settings are: {listed}.", where="--inference")
            try:
                found[name] = json.loads(value)
            except ValueError:
                found[name] = value
        return cls(method, found)

    @property
    def directions(self) -> list[tuple[str, ...]]:
        """Those that are read from each matrix that the method makes."""
        return [(side,) for side in DIRECTIONS] if self.method in PER_DIRECTION else [DIRECTIONS]

    @property
    def words(self) -> str:
        """The method and its settings, also those by default."""
        settings = {**_settings_of(self.method), **self.settings}
        shown = [f"{name} = {value}" for name, value in settings.items() if value and name not in ("direction", "out")]
        return ", ".join([self.method, *shown])


NAIVE = Inference()


def _settings_of(method: str) -> dict[str, Any]:
    parameters = list(inspect.signature(INFERENCE[method]).parameters.values())[1:]
    return {parameter.name: parameter.default for parameter in parameters}


@dataclass(frozen=True)
class Metrics:
    """Options that say which numbers are reported, and how the similarity is read."""

    inference: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="re-score the similarity first: csls,k=10 or inverted_softmax,beta=30 or assignment",
        ),
    ] = None
    ks: Annotated[str, typer.Option("--ks", help="cut-offs: how many first items of a ranking count")] = "1,5,10"
    ms: Annotated[str, typer.Option("--ms", help="semantic recall's m: size of its relevant set")] = "1,2,3"
    everything: Annotated[
        bool, typer.Option("--all", help="all variants: formulas, styles, weights, tie rules, hubs")
    ] = False
    soft: Annotated[bool, typer.Option("--soft", help="also semantic recall weighted by phi")] = False
    discounted: Annotated[bool, typer.Option("--discounted", help="also NCS with a logarithmic discount")] = False
    ncs_ms: Annotated[
        str | None,
        typer.Option("--ncs-ms", help="also the paper's NCS, with relevant sets of these sizes; k means the cut-off"),
    ] = None
    ideal_pool: Annotated[
        IdealPool,
        typer.Option(
            metavar="NAME",
            help="captions among which NCS looks for the best possible items: gallery, or given_rows: every row of phi",
        ),
    ] = IdealPool.GALLERY
    hubness: Annotated[bool, typer.Option("--hubs", help="report hubs, items that are nearest to many queries")] = False
    hub_ks: Annotated[str, typer.Option("--hub-ks", help="hubs: how many first items of a ranking count")] = "1"
    asp: Annotated[bool, typer.Option(help="report ASP, whole rankings against phi; takes longest")] = True
    map_cutoffs: Annotated[
        str, typer.Option("--map-cutoffs", help="cut-offs of mAP by category: all, R or a number such as 100")
    ] = "all,R"
    mean: Annotated[bool, typer.Option("--mean", help="also score by the mean of all phi, as in ASP(A)")] = False

    def of_evaluator(self) -> dict[str, Any]:
        """Arguments of ``Scorer``.

        Raises:
            typer.BadParameter: If a list of numbers holds something else.
        """
        every, of_hubs = self.everything, given.numbers_of(self.hub_ks, "--hub-ks")
        of_ncs = None if self.ncs_ms is None else given.numbers_of(self.ncs_ms, "--ncs-ms", {"k": None})
        return {
            "ks": given.numbers_of(self.ks, "--ks"),
            "ms": given.numbers_of(self.ms, "--ms"),
            "formulas": ("released", "paper") if every or of_ncs else ("released",),
            "styles": ("recall", "vse_recall") if every else ("recall",),
            "weightings": ("hard", "soft") if self.soft or every else ("hard",),
            "discounts": (None, "log") if self.discounted or every else (None,),
            "ncs_ms": of_ncs or (None,),
            "ideal_pool": self.ideal_pool,
            "asp_ties": () if not self.asp else ("index", "average") if every else ("index",),
            "hubness": self.hubness or every or of_hubs != (1,),
            "hub_ks": of_hubs,
            "category_cutoffs": given.numbers_of(self.map_cutoffs, "--map-cutoffs", ALL_OR_R),
        }


@given.in_groups
def evaluate(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help=f"similarity {given.SHAPE}, {given.MATRIX}; or IMAGES,TEXTS: embeddings "
            r"\[images, dim] and \[captions, dim]; or a folder of 'embed'; NAME=... gives it a name",
        ),
    ],
    inputs: Inputs,
    annotations: Annotations,
    metrics: Metrics,
    tests: given.Resampling,
    exports: Exports,
    outputs: Outputs,
    comparing: Annotated[
        bool, typer.Option("--compare/--no-compare", help="test whether several models differ")
    ] = True,
    against: Annotated[
        str | None, typer.Option(metavar="NAME", help="compare with this model alone; default: every pair")
    ] = None,
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

    Examples:

        fivesentences evaluate sims.npy --phi cider.npy --phi spice.npy

        fivesentences evaluate sims.npy --captions captions.txt --json out.json

        fivesentences evaluate image_emb.npy,text_emb.npy --dataset coco-5k

        fivesentences evaluate a.npy b.npy ours=img.npy,txt.npy --csv all.csv

        fivesentences evaluate sims.npy --inference csls,k=10 --rescored csls.npy

        fivesentences evaluate sims.npy --trec runs --per-query queries.csv
    """
    options, inference = metrics.of_evaluator(), Inference.of(metrics.inference)
    exports.check(metrics.inference)
    annotations.check()
    computed = list(inputs.metric or (["cider"] if inputs.captions else []))
    if metrics.mean and len(inputs.phi or ()) + len(computed) < 2:
        raise InputError("--mean averages several phi; give at least two.")
    found = inputs.models(models)
    names = [model.name for model in found]
    several = len(found) > 1
    scored = scored_by(found, inputs, annotations.protocol)
    if against is not None and not (several and comparing):
        raise InputError("it says with which of several models the others are compared.", where="--against")
    if against is not None and against not in names:
        raise InputError(f"it is '{against}', which is none of the models: {', '.join(names)}.", where="--against")
    read = [*(file for model in found for file in model.inputs), *inputs.files, *annotations.files]
    outputs.check(read, exports.files(names, inference.directions))
    notes, tested = list(scored.notes), None
    with quietly(outputs.quiet):
        scorer, gallery = _scorer(found[0], inputs, scored, annotations, metrics, computed, options, notes)
        ids = exports.item_names(gallery, annotations) if exports.trec is not None else ([], [])

        def export(model: Model, read: Gallery, sides: Sequence[str]) -> None:
            exports.write_matrix(read, sides)
            exports.write_runs(scorer, read, sides, model.name, names, ids)

        queries = exports.per_query is not None or (several and comparing)
        only = None if several else gallery
        del gallery  # of several models one similarity at a time is in memory
        results = score_models(scorer, found, only, notes, inputs.transposed, queries, inference, export)
        first = results[names[0]]
        if several and comparing:
            n_pairs = len(found) - 1 if against else len(found) * (len(found) - 1) // 2
            with working(f"compare {len(found)} models", n_pairs) as advance:
                tested = compare_all(
                    results, scorer.whole.image_of_caption,
                    against=against, resamples=tests.resamples, seed=tests.seed, progress=advance,
                )  # fmt: skip
        if exports.per_query is not None:
            of_models = {model.words: results[model.name] for model in found}
            with working(f"write {exports.per_query}", sum(len(one.queries) for one in results.values())) as advance:
                write_queries(
                    exports.per_query, of_models, advance, subject_of(scorer.whole, first.about, scored.about)
                )
        made = {"scored": scored.about} if scored.about else {}
        made |= outputs.provenance(read)
    notes = list(dict.fromkeys([*notes, *exports.notes]))
    about = {key: first.about[key] for key in GALLERY}
    if not several:
        tidy = labelled(first.tidy(), {"file": first.about["similarity"], **about})
        outputs.write(sheets(first, notes), tidy, {**first.about, **made, "values": first.values})
        return
    files = {name: one.about["similarity"] for name, one in results.items()}
    content = {**first.about, **made, **content_of_models(results, tested)}
    del content["similarity"]
    tidy = tidy_of_models(results, tested, {"file": files, **about})
    outputs.write(model_sheets(results, tested, against, notes), tidy, content)


def _scorer(
    first: Model,
    inputs: Inputs,
    scored: Scored,
    annotations: Annotations,
    metrics: Metrics,
    computed: Sequence[str],
    options: Mapping[str, Any],
    notes: list[str],
) -> tuple[Scorer, Gallery]:
    """The scorer of all models, and the gallery of the first; notes are added."""
    with working(f"read {first.matrix}" if first.text is None else "cosine similarity"):
        more_rows = metrics.ideal_pool == IdealPool.GIVEN_ROWS
        gallery, more = inputs.gallery(first, scored, annotations.protocol, computed=computed, more_rows=more_rows)
    further, on_order = annotations.read(gallery, scored.captions)
    notes += [*more, *on_order]
    if metrics.mean:
        if "mean" in gallery.phis:
            raise InputError(
                "--mean calls its phi 'mean', and there is a phi of that name; name it otherwise: --phi NAME=FILE."
            )
        notes.append(f"phi mean: the mean of {', '.join(gallery.phis)}, not scaled.")
        gallery = gallery.and_phis({"mean": mean_phi(list(gallery.phis.values()))})
    return Scorer(gallery, annotations.dataset, **options, **further), gallery


def score_models(
    scorer: Scorer,
    models: Sequence[Model],
    only: Gallery | None,
    notes: list[str],
    transposed: bool,
    queries: bool,
    inference: Inference = NAIVE,
    export: Callable[[Model, Gallery, Sequence[str]], None] = lambda model, read, sides: None,
) -> dict[str, Evaluation]:
    """The numbers of every model, by its name.

    Args:
        scorer: Scores a gallery of the images and captions of all models.
        models: The models.
        only: The gallery of the only model; None if there are several, which are then read one after the other.
        notes: Sentences on the models are added.
        transposed: Whether the rows of similarities are captions.
        queries: Whether to keep the values of all queries.
        inference: How the similarity is read.
        export: Called with each model, its gallery as it was read, and the directions that are read from it.
    """
    if only is None:
        with working("check the models", len(models) - 1) as advance:  # before anything is computed
            for model in models[1:]:
                notes += _read_another(scorer, model, transposed)[1]
                advance()
    results: dict[str, Evaluation] = {}
    whole, folds = scorer.whole, len(scorer.parts)
    size = f"{whole.n_images:,} images, {whole.n_captions:,} captions, {len(whole.phis)} phi"
    for model in models:
        gallery = only
        if gallery is None:
            with working(f"read {model.words}"):
                gallery = _read_another(scorer, model, transposed)[0]
        parts = []
        with working(f"score {model.words}, {size}", folds * len(inference.directions)) as advance:
            for sides, read in rescored(gallery, inference.method, **inference.settings):
                parts.append(scorer(read, queries=queries, progress=advance, directions=sides))
                export(model, read, sides)
        results[model.name] = _joined(parts)
        results[model.name].about["similarity"] = model.words
        if inference.method != "naive":
            results[model.name].about["inference"] = inference.words
            notes.append(_on_inference(inference, scorer))
        del gallery
    return results


def _joined(parts: Sequence[Evaluation]) -> Evaluation:
    """Numbers of both directions, each of which was read from a matrix of its own."""
    first = parts[0]
    for other in parts[1:]:
        first.values += other.values
        first.queries += other.queries
    if len(parts) > 1:
        first.values += sums_of(first.values)
    return first


def _on_inference(inference: Inference, scorer: Scorer) -> str:
    words = f"Re-scored by {inference.words}"
    if inference.method in TRANSDUCTIVE:
        words += ", which looks at all queries at once"
    if inference.method in PER_DIRECTION:
        words += "; each direction is read from a matrix of its own"
    return words + ("; over the whole split, not within a gallery." if len(scorer.parts) > 1 else ".")


def _read_another(scorer: Scorer, model: Model, transposed: bool) -> tuple[Gallery, list[str]]:
    """The similarity of another model of the same images and captions, checked, and sentences on it."""
    matrix, notes = read_scores(model.matrix, model.text, transposed=transposed)
    gallery = scorer.whole.with_similarity(matrix, model.matrix)
    return gallery, [*notes, *notes_on_constant_scores(gallery)]
