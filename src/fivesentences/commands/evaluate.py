"""`fivesentences evaluate`: every number of a model's similarity matrix."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fivesentences.commands import arguments as given
from fivesentences.commands.rescore import read_rescored
from fivesentences.commands.sheets import Outputs, Sheet, number, quietly
from fivesentences.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fivesentences.evaluation.protocols import Scores

SIDES = ("i2t", "t2i")
SUM_OF = {"Rsum": "R", "Nsum": "N"}  # stands in the last column of its recall
STUB = ("metric", "phi", "GT", "m", "variant")
GALLERY = ("protocol", "images", "captions", "galleries", "file_images", "file_captions", "tie_rule")
UNITLESS = ("hubs skewness", "hubs Gini")
COCO_TEST = (5000, 25000)
PARTS = ("coco-1k-5fold", "coco-1k-first")  # protocols whose galleries are not all of the file
ALL_OR_R: Mapping[str, str | None] = {"all": None, "R": "R"}  # cut-offs of mAP that are no numbers
Cells = dict[tuple[str, ...], dict[tuple[str, str], float]]  # rows by their stub, numbers by group and heading


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
        typer.Argument(metavar="TEXT_EMBEDDINGS", help=r"\[captions, dim]; then SIMILARITY is embeddings"),
    ] = None,
    phi: given.Phi = None,
    captions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="captions, one a line: phi is computed from them")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="which phi of --captions (default cider); again for more")
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
        str | None, typer.Option("--ncs-ms", help="also the paper's NCS with relevant sets of these sizes; k: cut-off")
    ] = None,
    ideal_pool: Annotated[
        IdealPool, typer.Option(metavar="NAME", help="captions of NCS's ideal: gallery, or given_rows of phi")
    ] = IdealPool.GALLERY,
    hubness: Annotated[bool, typer.Option("--hubs", help="report hubs")] = False,
    hub_ks: Annotated[str, typer.Option("--hub-ks", help="hubs among the first this many")] = "1",
    asp: Annotated[bool, typer.Option(help="report ASP, which takes longest")] = True,
    categories: Annotated[
        Path | None, typer.Option(metavar="FILE", help="category of each image, one a line: mAP, R-precision")
    ] = None,
    map_cutoffs: Annotated[
        str, typer.Option("--map-cutoffs", help="of mAP by category: all, R or a number such as 100")
    ] = "all,R",
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=rf"0/1 matrix \[images, labels], {given.MATRIX}: PMRP"),
    ] = None,
    instances: Annotated[
        Path | None, typer.Option(metavar="FILE", help="COCO instances .json instead of --labels: PMRP")
    ] = None,
    eccv: Annotated[
        bool, typer.Option("--eccv", help="ECCV Caption and CxC recall, of COCO's 5K test split alone")
    ] = False,
    cxc: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CxC recall from sits_test.csv and the two files of ids")
    ] = None,
    image_ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="COCO id of each image, one a line (coco-5k: known)")
    ] = None,
    caption_ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="COCO id of each caption, one a line (coco-5k: known)")
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

    SIMILARITY has a row for every image and a column for every caption, larger
    is more similar; equal scores are ordered by index, lower first. Embeddings
    are compared by their cosine; images that stand there once per caption are
    recognised. Without phi only recall is reported.

    Examples:

        fivesentences evaluate sims.npy --phi cider.npy --phi spice.npy

        fivesentences evaluate sims.npy --captions captions.txt --json out.json

        fivesentences evaluate image_emb.npy text_emb.npy --dataset coco-5k
    """
    from fivesentences.evaluation.protocols import protocol_named, score

    outputs = Outputs.of(json_out, csv, markdown, latex, quiet)
    cutoffs, sizes = given.numbers_of(ks, "--ks"), given.numbers_of(ms, "--ms")
    of_hubs, of_map = given.numbers_of(hub_ks, "--hub-ks"), given.numbers_of(map_cutoffs, "--map-cutoffs", ALL_OR_R)
    of_ncs = None if ncs_ms is None else given.numbers_of(ncs_ms, "--ncs-ms", {"k": None})
    if metric and captions is None:
        raise InputError("--metric says which phi of --captions; give the captions, or a matrix with --phi.")
    if mean and len(phi or ()) + (len(metric or ("cider",)) if captions else 0) < 2:
        raise InputError("--mean averages several phi; give at least two.")
    if labels is not None and instances is not None:
        raise InputError("--labels and --instances both say what is in an image; give one of them.")
    _check_positives(eccv, cxc, dataset, image_ids, caption_ids)
    protocol = None if dataset is None else protocol_named(dataset)
    with quietly(quiet):
        similarity, notes = _similarity(matrix, text, transposed)
        n_images, n_captions = given.check_similarity(similarity, dataset, image_of_caption, matrix)
        if eccv and (n_images, n_captions) != COCO_TEST:
            raise InputError(
                f"--eccv is about COCO's 5K test split of {COCO_TEST[0]:,} images and {COCO_TEST[1]:,} captions, but "
                f"{matrix} is [{n_images}, {n_captions}]; leave --eccv out."
            )
        pairing = given.pairing_of(image_of_caption, n_captions)
        texts = None if captions is None or not phi else _captions(captions, n_captions)
        phis = given.phis_of(phi, n_images, n_captions, pairing, texts, ideal_pool == IdealPool.GIVEN_ROWS)
        if captions is not None:
            phis |= _computed(captions, metric or ["cider"], pairing, n_images, n_captions, phis)
        if mean:
            from fivesentences.metrics import mean_phi

            phis["mean"] = mean_phi(list(phis.values()))
            notes.append(f"phi mean: the mean of {', '.join(name for name in phis if name != 'mean')}, not scaled.")
        ids = Ids.read(image_ids, caption_ids, dataset, n_images, n_captions)
        size = f"{n_images:,} images, {n_captions:,} captions"
        with given.working(f"score {matrix}, {size}, {len(phis)} phi", protocol.folds if protocol else 1) as advance:
            scores = score(
                similarity,
                phis,
                dataset,
                pairing,
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
                categories=None if categories is None else _lines(categories, n_images),
                labels=_labels(labels, instances, ids, n_images),
                positives=_positives(eccv, cxc, ids),
                progress=advance,
            )
    about = scores.about
    about["similarity"] = str(matrix) if text is None else f"{matrix}, {text}"
    tidy = labelled(scores.tidy(), {"file": about["similarity"], **{key: about[key] for key in GALLERY}})
    outputs.write(sheets(scores, notes), tidy, {**about, "values": scores.values})


def sheets(scores: Scores, notes: Sequence[str] = ()) -> list[Sheet]:
    """The numbers as papers print them: cut-offs beside each other, the two directions in groups."""
    about = scores.about
    at_k: Cells = {}
    single: Cells = {}
    fractions: Cells = {}
    formulas = sorted({value["formula"] for value in scores.values if value["metric"].startswith(("N@", "SR@"))})
    with_formula = len(formulas) > 1

    def row_of(value: Mapping[str, Any]) -> tuple[str, ...]:
        return _stub({**value, "m": 0}, cutoff_of(value["metric"])[0], with_formula)

    place = {row_of(value): at for at, value in reversed(list(enumerate(scores.values)))}
    for value in sorted(scores.values, key=lambda value: (place[row_of(value)], value["m"])):  # smallest m first
        family, k = cutoff_of(value["metric"])
        side = ("", value["direction"] or "both")
        if is_fraction(value["metric"]) or value["metric"].startswith(UNITLESS):
            fractions.setdefault(_stub(value, value["metric"], with_formula), {})[side] = value["value"]
        elif k is not None and value["direction"] and not family.startswith("hubs"):
            at_k.setdefault(_stub(value, f"{family}@k", with_formula), {})[value["direction"], f"@{k}"] = value["value"]
        elif family in SUM_OF:
            at_k.setdefault(_stub(value, f"{SUM_OF[family]}@k", with_formula), {})["", "sum"] = value["value"]
        else:
            single.setdefault(_stub(value, value["metric"], with_formula), {})[side] = value["value"]
    ks = sorted({int(name[1:]) for row in at_k.values() for side, name in row if side})
    found = []
    both = [("", name) for name in (*SIDES, "both")]
    for cells, columns, digits in (
        (at_k, [*((side, f"@{k}") for side in SIDES for k in ks), ("", "sum")], 2),
        (single, both, 2),
        (fractions, both, 4),
    ):
        shown = [column for column in columns if any(column in row for row in cells.values())]
        used = [at for at in range(len(STUB)) if any(stub[at] for stub in cells)]
        rows = [
            [*(stub[at] for at in used), *(number(row.get(at), digits) for at in shown)] for stub, row in cells.items()
        ]
        if rows:
            found.append(Sheet([STUB[at] for at in used], shown, rows))
    below = [f"i2t: images are queries, t2i: captions are; {about['protocol_words']}; {about['tie_rule']}."]
    below.append(_units({value["metric"] for value in scores.values}))
    if formulas:
        below.append(f"N and SR: {' and '.join(formulas)} formulas; GT: ground truth, the query's own items.")
    first, last = found[0], found[-1]
    return [
        replace(sheet, title=_title(about) if sheet is first else "", notes=[*below, *notes] if sheet is last else [])
        for sheet in found
    ]


def _title(about: Mapping[str, Any]) -> str:
    """The file and its size, and that of a gallery where it is another."""
    title = f"{about['similarity']}: {about['file_images']:,} images, {about['file_captions']:,} captions"
    if about["file_images"] == about["images"]:
        return title
    gallery = f"{about['images']:,} images, {about['captions']:,} captions"
    several = about["galleries"] > 1
    return f"{title}; mean of {about['galleries']} galleries of {gallery}" if several else f"{title}; scored: {gallery}"


def _units(metrics: Collection[str]) -> str:
    """What is no percentage."""
    others = {
        "ranks from 1": [name for name in ("Med r", "Mean r") if name in metrics],
        "fractions of 1": sorted({name for name in metrics if is_fraction(name)}),
        "a count": sorted(name for name in metrics if name.startswith("hubs max")),
        "no unit": sorted(name for name in metrics if name.startswith(UNITLESS)),
    }
    parts = [f"{', '.join(names)}: {unit}" for unit, names in others.items() if names]
    return "; ".join(["Percent" + (", but" if parts else "")]) + (f" {'; '.join(parts)}." if parts else ".")


def is_fraction(metric: str) -> bool:
    """Whether a metric is a fraction of 1: mAP, mAP@R, R-P, of categories or of positives."""
    return metric.split()[-1].partition("@")[0] in ("mAP", "R-P")


def labelled(frame: pd.DataFrame, about: Mapping[str, Any]) -> pd.DataFrame:
    """A tidy table that says first in every row what it is of, so that tables of several models can be joined."""
    labels = {name: [value] * len(frame) for name, value in about.items()}
    rest = frame.drop(columns=[name for name in about if name in frame.columns])
    for at, (name, values) in enumerate(labels.items()):
        rest.insert(at, name, values)
    return rest


def cutoff_of(metric: str) -> tuple[str, int | None]:
    """Family and cut-off of a metric's name: ``("N", 5)`` of "N@5", ``("mAP@R", None)`` of "mAP@R"."""
    family, at, k = metric.rpartition("@")
    return (family, int(k)) if at and k.isdigit() else (metric, None)


def _stub(value: Mapping[str, Any], metric: str, with_formula: bool) -> tuple[str, ...]:
    """What a row is, as ``STUB`` names it; the last cell is the rest in words."""
    words = [value["formula"]] if value["formula"] and with_formula and metric != "ASP" else []
    words += [value[key] for key in ("style", "weighting", "discount") if value[key] not in ("", "recall", "hard")]
    if metric == "ASP":
        words.append(f"ties by {value['formula']}")
    m = str(value["m"] or "")
    return metric, value.get("phi", ""), value["ground_truth"], m, ", ".join(words)


def _similarity(matrix: Path, text: Path | None, transposed: bool) -> tuple[NDArray[Any], list[str]]:
    """The similarity, and what is to be said about it."""
    if text is None:
        similarity = given.similarity_of(matrix, transposed)
        note = read_rescored(matrix)
        return similarity, [] if note is None else [note]
    if transposed:
        raise InputError("--transposed is about a similarity; give image embeddings first, then those of the captions.")
    from fivesentences.evaluation.reading import read_embeddings
    from fivesentences.retrieval.similarity import cosine_similarity

    images, texts, often = read_embeddings(matrix, text)
    for path, rows, each in ((matrix, images, often), (text, texts, 1)):
        given.check_finite(
            rows,
            lambda row, column, path=path, each=each: f"{path}: [{each * row}, {column}]",  # type: ignore[misc]
            lambda row, column: "row and column of the file, from 0",
            "write the embeddings again",
        )
    with given.working("cosine similarity"):
        similarity = cosine_similarity(images, texts)
    repeated = f" {matrix.name} has every image {often} times; one of each was taken." if often > 1 else ""
    return similarity, [f"Cosine similarity of embeddings of {images.shape[1]} dimensions.{repeated}"]


def _check_positives(
    eccv: bool, cxc: Path | None, dataset: str | None, image_ids: Path | None, caption_ids: Path | None
) -> None:
    """What can be said about lists of positives before anything is read."""
    if eccv and cxc is not None:
        raise typer.BadParameter("--eccv brings CxC along; leave --cxc out.", param_hint="--cxc")
    option = "--eccv" if eccv else "--cxc"
    if (eccv or cxc is not None) and dataset in PARTS:
        raise InputError(
            f"{option} is about the whole gallery, but --dataset {dataset} scores parts of it; give --dataset coco-5k."
        )
    if eccv:
        given.need("eccv_caption", "eccv", "--eccv")
    if cxc is not None and dataset != "coco-5k" and (image_ids is None or caption_ids is None):
        raise InputError(f"{cxc}: pairs are named by COCO ids; give --image-ids FILE and --caption-ids FILE.")


def _computed(
    path: Path,
    metrics: Sequence[str],
    pairing: NDArray[Any] | None,
    n_images: int,
    n_captions: int,
    known: dict[str, NDArray[Any]],
) -> dict[str, NDArray[Any]]:
    """phi of captions."""
    from fivesentences.semantics.registry import check_whole, needs_tuples, prepare
    from fivesentences.semantics.scoring import matrix_of

    for name in metrics:
        check_whole(name)
        if needs_tuples(name):
            raise InputError(
                f"{name} needs parsed captions; make it once: fivesentences phi {name} {path} -o {name}.npy, then pass "
                f"--phi {name}.npy."
            )
        if name in known:
            raise InputError(f"--phi and --metric both give {name}; leave one of them out.")
    texts = _captions(path, n_captions)
    if pairing is None:
        if n_captions % n_images:
            raise InputError(
                f"{path} holds {n_captions} captions, which are not equal blocks for {n_images} images; say whose each "
                "is with --image-of-caption FILE."
            )
        pairing = np.repeat(np.arange(n_images), n_captions // n_images)
    computed = {}
    for name in dict.fromkeys(metrics):
        scorer = prepare(name, texts, pairing)
        computed[name] = matrix_of(scorer, np.empty(scorer.shape, dtype=np.float32), name)
    return computed


def _captions(path: Path, n_captions: int) -> list[str]:
    from fivesentences.semantics.caption_file import read_captions

    texts = read_captions(path)
    if len(texts) != n_captions:
        raise InputError(
            f"{path} holds {len(texts)} captions but the similarity has {n_captions} columns; give the captions that "
            "it was made of, in the same order."
        )
    return texts


def _lines(path: Path, n_images: int) -> NDArray[Any]:
    lines = _read_lines(path)
    if len(lines) != n_images:
        raise InputError(f"{path} holds {len(lines)} categories but there are {n_images} images; give one an image.")
    return np.unique(lines, return_inverse=True)[1]


@dataclass(frozen=True)
class Ids:
    """COCO ids of images and captions, where they are known.

    Attributes:
        images: ``[images]``, or None.
        captions: ``[captions]``, or None.
    """

    images: list[str] | None
    captions: list[str] | None

    @classmethod
    def read(
        cls, images: Path | None, captions: Path | None, dataset: str | None, n_images: int, n_captions: int
    ) -> Ids:
        """From files of one id a line; for coco-5k the order of eccv_caption where no file is given."""
        found: list[list[str] | None] = []
        for what, path, wanted in (("images", images, n_images), ("captions", captions, n_captions)):
            lines = None if path is None else _read_lines(path)
            if lines is not None and len(lines) != wanted:
                raise InputError(f"{path} holds {len(lines)} ids but there are {wanted} {what}; give one a line.")
            found.append(lines)
        if dataset == "coco-5k" and found == [None, None]:
            return cls.usual()
        return cls(*found)

    @classmethod
    def usual(cls) -> Ids:
        """Those of COCO's test split in Karpathy's order, if eccv_caption, which knows them, is installed."""
        from fivesentences.evaluation.eccv_caption import coco_test_ids

        try:
            images, captions = coco_test_ids()
        except InputError:
            return cls(None, None)
        return cls([str(number) for number in images.tolist()], [str(number) for number in captions.tolist()])


def _labels(path: Path | None, instances: Path | None, ids: Ids, n_images: int) -> NDArray[Any] | None:
    from fivesentences.corpus.instances import read_instances
    from fivesentences.evaluation.reading import read_matrix

    if path is not None:
        labels = read_matrix(path)
        if len(labels) != n_images:
            raise InputError(
                f"{path} is {list(labels.shape)} but there are {n_images} images; give a row of 0 and 1 for each image."
            )
        unlike = ~np.isin(labels, (0, 1))
        if unlike.any():
            row, column = (int(index[0]) for index in np.nonzero(unlike))
            raise InputError(f"{path}: [{row}, {column}] is {labels[row, column]}; a label is 0 or 1.")
        return labels
    if instances is None:
        return None
    if ids.images is None:
        raise InputError(f"{instances}: whose labels these are is said by COCO ids; give --image-ids FILE.")
    return read_instances(instances, ids.images)


def _positives(eccv: bool, cxc: Path | None, ids: Ids) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    if eccv:
        from fivesentences.evaluation.eccv_caption import packaged_positives

        found["ECCV"] = packaged_positives("eccv", ids.images, ids.captions)
        found["CxC"] = packaged_positives("cxc", ids.images, ids.captions)
    if cxc is not None:
        from fivesentences.evaluation.positives import cxc_positives

        if ids.images is None or ids.captions is None:
            raise InputError(f"{cxc}: pairs are named by COCO ids; give --image-ids FILE and --caption-ids FILE.")
        found["CxC"] = cxc_positives(cxc, ids.captions, ids.images)
    return found or None


def _read_lines(path: Path) -> list[str]:
    from fivesentences.semantics.caption_file import read_captions

    return [line.strip() for line in read_captions(path)]
