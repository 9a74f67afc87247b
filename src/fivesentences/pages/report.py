"""What one or several models do with every query, collected for a page, figures and a notebook."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.config.metrics import shown_name
from fivesentences.errors import Argument, Cure, InputError
from fivesentences.evaluation.protocols import ProtocolScorer, checked_gallery, refuse_evaluation
from fivesentences.evaluation.query_tests import compare_all
from fivesentences.metrics import Evaluation
from fivesentences.metrics.ranking import TIE_RULE
from fivesentences.metrics.relevance import Relevance
from fivesentences.metrics.relevance_in_blocks import RelevanceInBlocks
from fivesentences.pages.answers import Answers, criteria_of, largest
from fivesentences.pages.curves import GRID, Line, curves_of, reach_of
from fivesentences.pages.pictures import Pictures, pictures_of
from fivesentences.retrieval.arguments import DIRECTIONS, Direction, checked_count
from fivesentences.retrieval.cosine import gallery_of_embeddings
from fivesentences.retrieval.gallery import Gallery, Similarity
from fivesentences.retrieval.lists import ItemLists
from fivesentences.semantics.caption_file import own_pairing, read_captioned
from fivesentences.semantics.cider import cider_matrix
from fivesentences.semantics.scored import ScoredPhi

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

HEADLINES = (1, 5, 10)  # cut-offs of the table
OF_EACH = 30  # queries that each criterion adds to a page
HUBS = 12


class Report:
    """Models of the same images and captions, with what each retrieves for every query.

    Args:
        gallery: Images, captions and phi. NCS of queries is by the first phi.
        captions: Text of each caption.
        k: Items that a query is answered with, and the cut-off by which it counts as found.
        pictures: The photograph of each image; None: captions stand for images.
        ids: ``[images]`` name of each image; default the photograph's, or its index.

    Attributes:
        models: Names, in the order in which they were added.
        evaluations: Numbers of each, as ``evaluate`` computes them.
        answers: ``Answers`` of each model by direction.
    """

    def __init__(
        self,
        gallery: Gallery,
        captions: Sequence[str],
        *,
        k: int = 5,
        pictures: Pictures | None = None,
        ids: Sequence[str] | None = None,
    ):
        self.k, self.captions, self.pictures = checked_count("k", k), list(captions), pictures
        if not gallery.phis:
            raise InputError("no phi is given, and NCS needs one.")
        names = pictures.files if pictures is not None else None
        self.ids = list(ids or names or map(str, range(gallery.n_images)))
        self.shape, self.image_of_caption = gallery.shape, gallery.image_of_caption
        self.phis = list(gallery.phis)
        lists = gallery.similarity if isinstance(gallery.similarity, ItemLists) else None
        #: Items of each list, where lists are given in place of a similarity.
        self.reach = None if lists is None else min(one.shape[1] for one in lists.items.values())
        self.directions: list[Direction] = list(DIRECTIONS if lists is None else lists.directions)
        self.ks = tuple(sorted(k for k in {*GRID, *HEADLINES, self.k} if k <= max(reach_of(gallery), self.k)))
        self._scorer = ProtocolScorer(gallery, None, ks=self.ks, ms=(), asp_ties=())
        first = gallery.phis[self.phis[0]]
        kind = RelevanceInBlocks if isinstance(first, ScoredPhi) else Relevance
        self._relevance = kind(first, gallery.image_of_caption)  # type: ignore[arg-type]
        self.models: list[str] = []
        self.evaluations: dict[str, Evaluation] = {}
        self.answers: dict[str, dict[Direction, Answers]] = {}
        self.counts: dict[str, dict[Direction, NDArray[np.int64]]] = {}
        self.notes: list[str] = []
        self._chance: Evaluation | None = None
        self._tests: pd.DataFrame | None = None
        self._lines: dict[str, list[Line]] = {}

    def add(self, name: str, similarity: Similarity, t2i: Similarity | None = None) -> None:
        """Score a model, and keep what it retrieves; its similarity is not kept.

        Args:
            name: Its name.
            similarity: ``[images, captions]``, or lists of first items.
            t2i: What scores caption queries, where that is something else.

        Raises:
            InputError: If there is a model of this name, or the similarity does not fit.
        """
        if name in self.answers:
            cure = Cure("give each a name of its own", "name them, such as A=FILE B=FILE")
            raise InputError(f"two models are called '{name}'", cure=cure)
        whole = self._scorer.whole.with_similarity(similarity)
        found = self._scorer(whole, t2i=t2i, queries=True)
        galleries = dict.fromkeys(self.directions, whole)
        if t2i is not None:
            galleries["t2i"] = self._scorer.whole.with_similarity(t2i)
        self.answers[name] = {
            side: Answers(gallery, side, self.k, self._relevance) for side, gallery in galleries.items()
        }
        self.counts[name] = {
            side: np.bincount(one.items.ravel(), minlength=self.shape[side == "i2t"])
            for side, one in self.answers[name].items()
        }
        self.models.append(name)
        self.evaluations[name] = found
        self._tests = None

    @property
    def chance(self) -> Evaluation:
        """What a ranking in random order reaches on average."""
        if self._chance is None:
            self._chance = self._scorer.by_chance()
        return self._chance

    @property
    def all_notes(self) -> list[str]:
        """Sentences on what the numbers hang on."""
        several = len(self.models) > 1
        of_models = [
            f"{name}: {note}" if several else note
            for name in self.models
            for note in self.evaluations[name].about["notes"]
        ]
        return list(dict.fromkeys([*self.notes, *of_models]))

    def lines(self, model: str) -> list[Line]:
        """Return recall and NCS of a model over cut-offs, with intervals and chance."""
        if model not in self._lines:
            self._lines[model] = curves_of(
                self.evaluations[model], self.chance, self.image_of_caption, self.directions, self.ks, self.phis[0]
            )
        return self._lines[model]

    @property
    def tests(self) -> pd.DataFrame | None:
        """Paired tests of recall and NCS at the cut-offs of the table, as ``evaluate`` makes them; None of one model.

        Of three models or more each is compared with the first.
        """
        if self._tests is None and len(self.models) > 1 and len(self.directions) == len(DIRECTIONS):
            headlines = {
                name: Evaluation(
                    one.values, one.about, [row for row in one.queries if self._is_headline(row)], one.scored
                )
                for name, one in self.evaluations.items()
            }
            frame = compare_all(headlines, self.image_of_caption, against=self.models[0])
            self._tests = frame[frame["direction"] != ""]
        return self._tests

    def _is_headline(self, row: Mapping[str, Any]) -> bool:
        stem, at, k = row["metric"].partition("@")
        kept = stem == "R" or (stem == "N" and row["phi"] == self.phis[0] and row["ground_truth"] == "kept")
        return bool(at) and kept and int(k) in HEADLINES

    def numbers(self) -> list[dict[str, Any]]:
        """Return the table of the front page: rows with ``metric``, ``phi``, ``ground_truth``, ``model`` and values.

        ``values`` holds by direction the value at each cut-off of ``HEADLINES`` that there is; the model of the row of
        a random ranking is ``"chance"``.
        """
        rows = []
        kinds = [("R", "", "")]
        kinds += [("N", phi, kept) for phi in self.phis for kept in ("kept", "removed")]
        ks = [k for k in HEADLINES if k in self.ks]
        for metric, phi, kept in kinds:
            for model, one in [*self.evaluations.items(), ("chance", self.chance)]:
                known = {
                    (row["metric"], row["direction"]): row["value"]
                    for row in one.values
                    if row["phi"] == phi and row["ground_truth"] == kept and not row["discount"]
                }
                values = {side: [known.get((f"{metric}@{k}", side)) for k in ks] for side in self.directions}
                shown = shown_name(f"{metric}@1").partition("@")[0]
                rows.append({"metric": shown, "phi": phi, "ground_truth": kept, "model": model, "values": values})
        return rows

    def summary(self) -> list[str]:
        """Say for each model and direction how many queries are found, and how the missed ones are answered."""
        said = []
        asked = {"i2t": ("images", "caption"), "t2i": ("captions", "image")}
        for name in self.models:
            for side, one in self.answers[name].items():
                queries, item = asked[side]
                hit = one.rank <= self.k
                close = int(np.count_nonzero(~hit & (one.ncs >= CLOSE)))
                chance = self.chance.value(f"R@{self.k}", side)
                said.append(
                    f"{name}: {np.count_nonzero(hit):,} of {len(hit):,} {queries} find an own {item} among the first "
                    f"{self.k} ({100 * hit.mean():.1f}%; a random order {chance:.1f}%). Of the "
                    f"{np.count_nonzero(~hit):,} that do not, {close:,} are answered by items with at least half of "
                    f"the φ that any {self.k} could have."
                )
        return said

    def chosen(self, side: Direction, most: int, seed: int = 0) -> list[int]:
        """Return queries for a page: all if they are few, else those that criteria choose, and others at random.

        Args:
            side: Side of the queries.
            most: Number of queries.
            seed: Seed of the draw.
        """
        total = len(self.answers[self.models[0]][side].rank)
        if total <= most:
            return list(range(total))
        answers = [self.answers[name][side] for name in self.models]
        groups = [[one] for one in answers] + [[answers[0], other] for other in answers[1:]]
        places: dict[int, None] = {}
        of_each = max(1, min(OF_EACH, most // (4 * len(groups))))

        def words_of(query: int) -> object:
            return query if side == "i2t" else self.captions[query]

        for group in groups:
            for criterion in criteria_of(group, self.k):
                places |= dict.fromkeys(largest(criterion.importance, criterion.among, of_each, words_of))
        for one in answers:
            places |= dict.fromkeys(largest(one.rank.astype(float), one.rank > self.k, of_each, words_of))
        drawn = np.random.default_rng([seed, total]).permutation(total).tolist()
        for query in drawn:
            if len(places) >= most:
                break
            places.setdefault(query)
        return sorted(list(places)[:most])

    def best_other(self, side: Direction, queries: Sequence[int]) -> NDArray[np.float64]:
        """Return ``[queries]`` the largest phi between a query and an item that is not its own."""
        items = self._relevance.ideal(side, 1).first(1, keep_ground_truth=False)
        some = np.asarray(queries, dtype=np.int64)
        return self._relevance.values(items[some], side, some)[:, 0]

    def write(
        self, folder: Path | str, *, queries: int = 1000, seed: int = 0, advance: Callable[[], object] | None = None
    ) -> list[str]:
        """Write the page: ``index.html``, ``data.js`` and ``thumbnails/``; see ``pages.page.write_page``.

        Returns:
            Sentences on what was written and left out.

        Raises:
            InputError: If the folder holds something else or cannot be written.
        """
        from fivesentences.pages.page import write_page

        return write_page(self, Path(folder), queries, seed, advance)

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures of the page, as matplotlib's: ``curves``, ``ranks`` and ``cloud`` (needs matplotlib).

        Raises:
            InputError: If matplotlib is not installed.
        """
        from fivesentences.pages.figures import cloud_figure, curves_figure, ranks_figure

        return {"curves": curves_figure(self), "ranks": ranks_figure(self), "cloud": cloud_figure(self)}

    def query_figure(self, query: int | str) -> Figure:
        """Draw one query with what every model retrieves for it, to be printed (needs matplotlib).

        Args:
            query: Index of a caption, or its name on the page, such as ``"t2i-17"``, or ``"i2t-3"`` of an image.

        Raises:
            InputError: If there is no such query, or matplotlib is not installed.
        """
        from fivesentences.pages.figures import query_figure

        return query_figure(self, *self.query_named(query))

    def query_named(self, query: int | str) -> tuple[Direction, int]:
        """Return direction and index of a query; see ``query_figure``.

        Raises:
            InputError: If there is none.
        """
        text = str(query).strip()
        found = re.fullmatch(r"#?(?:(i2t|t2i)-)?([0-9]{1,12})", text)
        side, number = (found[1] or "t2i", int(found[2])) if found else ("", 0)
        if side not in self.directions:
            what = f"'{query}' is no query"
            raise InputError(what, cure="give the number of a caption, such as 17, or i2t-3 for the image 3")
        total = self.shape[side == "t2i"]
        if number >= total:
            kind = "captions" if side == "t2i" else "images"
            raise InputError(f"there is no query {text}: the {kind} are 0 to {total - 1:,}.")
        return side, number  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "\n".join([f"Report of {', '.join(self.models)}: {self.about}", *self.summary()])

    @property
    def about(self) -> str:
        """Size of the gallery, phi and rule for ties."""
        images, captions = self.shape
        return f"{images:,} images, {captions:,} captions; φ: {', '.join(self.phis)}; {TIE_RULE}"

    def _repr_html_(self) -> str:
        """Return table, sentences and curves for a notebook; ``write`` makes the page that can be searched."""
        ks = [k for k in HEADLINES if k in self.ks]
        heads = "".join(f"<th>{side}@{k}</th>" for side in self.directions for k in ks)
        rows = []
        for row in self.numbers():
            of = f"GT {row['ground_truth']}" if row["ground_truth"] else ""
            kind = " ".join(filter(None, [row["metric"], row["phi"], of]))
            values = [one for side in self.directions for one in row["values"][side]]
            cells = "".join(f"<td>{'' if one is None else f'{one:.2f}'}</td>" for one in values)
            rows.append(f"<tr><td>{escape(kind)}</td><td>{escape(row['model'])}</td>{cells}</tr>")
        said = "".join(f"<li>{escape(one)}</li>" for one in [*self.summary(), self.about, *self.all_notes])
        return (
            f"<table><thead><tr><th>metric</th><th>model</th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
            f"<ul>{said}</ul>{self._curves_inline()}"
        )

    def _curves_inline(self) -> str:
        """Return the curves as an image for a notebook; empty where matplotlib is not installed."""
        from fivesentences.pages.figures import curves_figure, inline

        try:
            return inline(curves_figure(self), f"Recall and NCS over k of {', '.join(self.models)}")
        except InputError:
            return ""


CLOSE = 50.0  # NCS in percent: half of the phi that k items could have


def look(
    similarity: Similarity | Mapping[str, Similarity],
    texts: ArrayLike | None = None,
    *,
    captions: Sequence[str] | Path | str,
    images: Path | str | Sequence[Path | str] | None = None,
    image_names: Sequence[str] | None = None,
    image_of_caption: ArrayLike | None = None,
    phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
    k: int = 5,
) -> Report:
    """Collect what models retrieve, to be looked at in a notebook or written as a page::

        report = fivesentences.look(similarity, captions="captions.txt", images="photos")
        report
        report.figures["curves"]
        report.query_figure(17)
        report.write("look")

    Args:
        similarity: ``[images, captions]``, larger is more similar, or several by the names of their models. With texts
            ``[images, dim]``, embeddings of the images.
        texts: ``[captions, dim]``, embeddings of the captions.
        captions: Texts, or a file as ``evaluate --captions`` reads it.
        images: A folder, zip archives, tar shards, or a file that lists paths; None: captions stand for images.
        image_names: ``[images]`` file name of each photograph; default those of a file of captions that names images,
            or else photographs in the order of the rows.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        phis: ``[captions, images]`` by name, or one matrix; default CIDEr of the captions.
        k: Items that a query is answered with.

    Raises:
        InputError: If shapes disagree, a value is not finite, a file is damaged, or photographs do not fit the images.
    """
    named_by = "image_names"
    if isinstance(captions, str | Path):
        table = read_captioned(captions)
        pairing = None if image_of_caption is None else np.asarray(image_of_caption)
        image_of_caption = own_pairing(table, Path(captions), pairing)
        if image_names is None and table.is_named and pairing is None:
            image_names, named_by = table.images, Path(captions).name
        captions = table.captions
    given = similarity if isinstance(similarity, Mapping) else {"model": similarity}
    if not given:
        raise InputError("is empty; give at least one model.", where=Argument("similarity"))
    if texts is not None:
        if len(given) > 1:
            raise InputError("texts are of one model; give several as similarities.")
        (name, of_images), *_ = given.items()
        if isinstance(of_images, Gallery):
            raise InputError("a gallery has a similarity already; give embeddings of the images with texts.")
        given = {name: gallery_of_embeddings(of_images, texts, image_of_caption, ("images", "texts"))}
        image_of_caption = None
    first = next(iter(given.values()))
    refuse_evaluation(first, "similarity")
    whole = checked_gallery(first, image_of_caption, phis, None)
    if len(captions) != whole.n_captions:
        what = f"there are {len(captions):,} captions, but the similarity has {whole.n_captions:,} columns"
        raise InputError(what, cure=Cure("pass the captions that it was made of", "give the captions it was made of"))
    if not whole.phis:
        whole = whole.with_phis({"cider": cider_matrix(captions, whole.image_of_caption)})
    pictures = None
    if images is not None:
        places = [Path(one) for one in ([images] if isinstance(images, str | Path) else images)]
        pictures = pictures_of(places, whole.n_images, image_names, named_by)
    report = Report(whole, captions, k=k, pictures=pictures, ids=image_names)
    for name, one in given.items():
        report.add(name, one)
    return report
