"""Every metric that an evaluation reports: its unit, which way is better, what it needs, and where it comes from.

Config, commands, tables and documents read this list, so that each metric is described once. It imports only the
standard library, the choices and the errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal, NamedTuple

from fivesentences.choices import each_once
from fivesentences.errors import InputError, did_you_mean

Unit = Literal["percent", "rank", "fraction", "count", "none"]
Better = Literal["higher", "lower", "neither"]
Needs = Literal["", "phi", "labels", "categories", "lists of positives", "judgements"]
UNITS: dict[Unit, str] = {  # in words, for a note below a table
    "percent": "percent",
    "rank": "ranks from 1",
    "fraction": "fractions of 1",
    "count": "a count",
    "none": "no unit",
}
_CUTOFF = re.compile(r"[1-9][0-9]*")
_LIST = "<list>"  # stands for the name of a list of positives, such as CxC


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric, at any cut-off.

    Attributes:
        name: As numbers are named; ``k`` stands for the cut-off ("R@k") and ``<list>`` for a list of positives.
        measures: The measured quantity, in a phrase.
        source: The paper or code that defines it.
        family: The heading that tables put above it; metrics of a family stand together.
        unit: Unit of its values.
        better: Which values are better.
        decimals: Digits after the point in the tables of ``evaluate``, where more than 2 also mean another table. A
            printed ``MetricFrame`` only asks whether there are more than 2; tables of the paper go by the unit.
        needs: Inputs that it needs besides a similarity and its pairing of captions with images.
        sum: Name of the metric that sums it over cut-offs and directions; empty if there is none.
        heading: Header of its column, below the family; its name if empty.
        formulas: Whether it is reported by formula, and with or without the query's own items.
        of_runs: Whether the workflow reports it for every run, so that a study's table may have it as a column.
        scores: Where the function is that computes it, such as "fivesentences.metrics.recall:recall_values": from a
            ``Ranking``, then a ``Relevance`` if the metric needs phi, then the cut-off if its name ends in "@k", it
            returns ``[queries]`` fractions, or these and which queries have nothing to find. Empty for metrics with
            variants, which the evaluator knows.
        chance: Where the function is that takes a ``RandomRanking`` instead and returns expected values; empty if no
            closed form is known.
    """

    name: str
    measures: str
    source: str
    family: str
    unit: Unit = "percent"
    better: Better = "higher"
    decimals: int = 2
    needs: Needs = ""
    sum: str = ""
    heading: str = ""
    formulas: bool = False
    of_runs: bool = True
    scores: str = ""
    chance: str = ""

    @property
    def needs_phi(self) -> bool:
        """Whether the metric depends on phi."""
        return self.needs == "phi"

    @property
    def is_hubness(self) -> bool:
        """Whether it describes the items of the gallery rather than the answers to queries."""
        return self.name.startswith("hubs ")


_FIVE, _ECCV = "Five Sentences", "ECCV Caption (Chun et al. 2022)"
_recall = partial(Metric, family="Recall")
_ncs = partial(Metric, family="Normalised cumulative semantic score", needs="phi", formulas=True)
_category = partial(Metric, family="By category", unit="fraction", decimals=4, needs="categories", of_runs=False)
_positives = partial(Metric, family="By lists of positives", needs="lists of positives", of_runs=False)
_judged = partial(
    Metric, family="By judged images", unit="fraction", decimals=4, needs="judgements", of_runs=False,
)  # fmt: skip
_hubs = partial(
    Metric, family="N₁ of items: how many queries have an item as their nearest", better="neither",
    source="kNN-margin, Table 5",
)  # fmt: skip
_skew = partial(_hubs, unit="none", better="lower", decimals=4)

#: Every metric that an evaluation reports, by name.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _recall(
            name="R@k", measures="share of queries with a ground-truth item among the first k",
            source=f"{_FIVE}, eq. 2", sum="Rsum", scores="fivesentences.metrics.recall:recall_values",
            chance="fivesentences.metrics.recall:recall_by_chance",
        ),
        _recall(
            name="true R@k", measures="share of a query's ground-truth items among the first k",
            source=f"{_FIVE}, eq. 1", scores="fivesentences.metrics.recall:true_recall_values",
            chance="fivesentences.metrics.recall:true_recall_by_chance",
        ),
        _recall(
            name="Med r", measures="median rank of the best-placed ground-truth item, rounded down",
            source="VSE++ and its successors", unit="rank", better="lower",
        ),
        _recall(
            name="Mean r", measures="mean rank of the best-placed ground-truth item",
            source="VSE++ and its successors", unit="rank", better="lower",
        ),
        _recall(
            name="Rsum", measures="sum of R@k over cut-offs and directions", source="VSE++ and its successors",
        ),
        _recall(name="mR", measures="mean of R@k over cut-offs and directions", source="CVSE", of_runs=False),
        _ncs(
            name="N@k", measures="NCS: phi of the first k items over the largest possible phi",
            source=f"{_FIVE}, eq. 5", sum="Nsum",
        ),
        _ncs(name="Nsum", measures="sum of NCS@k over cut-offs and directions", source=_FIVE),
        Metric(
            name="nDCG@k", measures="phi of the first k items, earlier ones counting more, over the largest possible",
            source="Järvelin and Kekäläinen 2002", family="nDCG by φ", unit="fraction", decimals=4, needs="phi",
            of_runs=False, scores="fivesentences.metrics.ndcg:ndcg_scores",
            chance="fivesentences.metrics.ndcg:ndcg_scores",
        ),
        Metric(
            name="SR@k", measures="share of the items that phi calls most relevant (m of them) found among the first k",
            source=f"{_FIVE}, eq. 4", family="Semantic recall", needs="phi", formulas=True,
        ),
        Metric(
            name="ASP", measures="average semantic precision: how well the whole ranking agrees with that by phi",
            source="DAA (Li et al. 2022), eq. 1", family="Average semantic precision by φ", needs="phi",
        ),
        Metric(
            name="PMRP", measures="R-precision where items with nearly the same labels are relevant",
            source="PCME (Chun et al. 2021)", family="By labels", needs="labels",
        ),
        _category(
            name="mAP", measures="mean average precision where items of the query's category are relevant",
            source="scheduled adaptive margin; DSCMR",
        ),
        _category(
            name="mAP@k", measures="mean average precision within the first k items",
            source="scheduled adaptive margin; DSCMR",
        ),
        _category(
            name="mAP@R", measures="mean average precision within as many items as are relevant",
            source="Musgrave et al. 2020",
        ),
        _category(
            name="R-P", measures="share of relevant items among as many items as are relevant", source="trec_eval",
        ),
        _positives(
            name=f"{_LIST} R@k", measures="share of queries with a positive among the first k",
            source=f"CxC (Parekh et al. 2021); {_ECCV}",
        ),
        _positives(
            name=f"{_LIST} R-P", measures="share of positives among as many items as there are positives",
            source=_ECCV, unit="fraction", decimals=4,
        ),
        _positives(
            name=f"{_LIST} mAP@R", measures="mean average precision within as many items as there are positives",
            source=_ECCV, unit="fraction", decimals=4,
        ),
        _judged(
            name=f"{_LIST} AP", measures="average precision of the ranking condensed to judged images",
            source="Sakai, SIGIR 2007",
        ),
        _judged(
            name=f"{_LIST} nDCG", measures="nDCG of the ranking condensed to judged images, linear gains",
            source="Järvelin and Kekäläinen 2002; Sakai, SIGIR 2007",
        ),
        _judged(
            name=f"{_LIST} Q", measures="Q-measure of the ranking condensed to judged images, β = 1",
            source="Sakai, SIGIR 2007",
        ),
        _judged(
            name=f"{_LIST} bpref", measures="how few images judged wrong stand ahead of right ones",
            source="Buckley and Voorhees, SIGIR 2004; trec_eval",
        ),
        _judged(
            name=f"{_LIST} infAP", measures="average precision of the whole ranking, inferred from judged images",
            source="Yilmaz and Aslam, CIKM 2006; trec_eval",
        ),
        _hubs(name="hubs 0", measures="share of items that are nearest to no query", heading="0", better="lower"),
        _hubs(name="hubs 1", measures="share of items that are nearest to one query", heading="1"),
        _hubs(name="hubs >=2", measures="share of items that are nearest to 2 queries or more", heading="≥ 2"),
        _hubs(name="hubs >=5", measures="share of items that are nearest to 5 queries or more", heading="≥ 5"),
        _hubs(name="hubs >=10", measures="share of items that are nearest to 10 queries or more", heading="≥ 10"),
        _hubs(
            name="hubs max", measures="number of queries to which the largest hub is nearest", heading="largest",
            unit="count", better="lower",
        ),
        _skew(
            name="hubs skewness", measures="skewness of the number of queries to which an item is nearest",
            heading="skew", source="Radovanovic et al. 2010",
        ),
        _skew(
            name="hubs Gini", measures="Gini coefficient of the number of queries to which an item is nearest",
            heading="Gini", source="Gini 1912",
        ),
    )
}  # fmt: skip
METRIC_HEADINGS = ["Metric", "What it measures", "Unit", "Better", "Needs", "Source"]
SUMS = {metric.sum: metric.name for metric in METRICS.values() if metric.sum}  # such as Rsum: R@k


class MetricName(NamedTuple):
    """The parts of a number's name.

    Attributes:
        metric: The metric.
        cutoff: 5 of "R@5"; None if there is none.
        positives: "CxC" of "CxC R@5"; empty if there is none.
    """

    metric: Metric
    cutoff: int | None = None
    positives: str = ""

    @property
    def family(self) -> str:
        """The name at any cut-off: "CxC R@k" of "CxC R@5", "hubs max" of "hubs max@5"."""
        return self.metric.name.replace(_LIST, self.positives)


@cache
def parse_metric(name: str) -> MetricName:
    """Return the metric, cut-off and list of positives of which a number's name consists.

    Args:
        name: Such as "R@5", "NCS@5" (or "N@5"), "mAP@R", "hubs max@5" or "CxC R@1"; with "k" for the cut-off, the
            metric at any cut-off.

    Raises:
        InputError: If there is no such metric.
    """
    found = _parsed(f"N{name[3:]}" if name.startswith("NCS@") else name)
    if found is None:
        expected = ", ".join(map(shown_name, METRICS))
        raise InputError(f"metric is {name!r}; expected one of {expected} (k: a cut-off from 1).")
    return found


def metric_of(name: str) -> Metric:
    """Return the metric that a number's name belongs to, such as "R@5" to "R@k".

    Raises:
        InputError: If there is no such metric.
    """
    return parse_metric(name).metric


def _parsed(name: str) -> MetricName | None:
    if name in METRICS:
        return MetricName(METRICS[name])
    base, _, cutoff = name.rpartition("@")
    if cutoff == "k" or _CUTOFF.fullmatch(cutoff):
        metric = METRICS.get(f"{base}@k") or METRICS.get(base)
        if metric is not None and (metric.name.endswith("@k") or metric.is_hubness):
            return MetricName(metric, None if cutoff == "k" else int(cutoff))
    positives, _, rest = name.partition(" ")
    if positives and (whole := METRICS.get(f"{_LIST} {rest}")):  # some, such as AP, exist by lists alone
        return MetricName(whole, None, positives)
    found = _parsed(rest) if rest else None
    of_list = None if found is None or found.positives else METRICS.get(f"{_LIST} {found.metric.name}")
    return MetricName(of_list, found.cutoff, positives) if found and of_list else None


class Choice(NamedTuple):
    """Metrics that a table shows, by one name.

    Attributes:
        text: The name as it was given, such as "NCS" or "R@1".
        name: The same as ``_plain`` writes it.
        ground_truth: Whether the query's own items are "kept" or "removed", for metrics that are reported both ways.
    """

    text: str
    name: str
    ground_truth: str = "kept"

    @property
    def needs(self) -> str:
        """What the metric needs besides a similarity, in words."""
        base = self.name.partition("@")[0]
        found = next((metric for name, metric in METRICS.items() if _plain(name) in (self.name, base)), None)
        return "lists of positives" if found is None else found.needs

    def has(self, metric: str, ground_truth: str) -> bool:
        """Return True for the name of a number that it stands for."""
        return self.name in (_plain(metric), _plain(parse_metric(metric).family)) and (
            ground_truth in ("", self.ground_truth)
        )


def choices_of(names: str) -> list[Choice]:
    """Return the metrics that a list of names stands for, each once.

    Args:
        names: Separated by commas, without blanks and "@k", or with one cut-off: "R,MedR,NCS@1"; upper and lower case
            are the same. "-GT" leaves out the query's own items: "NCS-GT".

    Raises:
        InputError: If there is no such metric; it lists the names.
    """
    known = {_plain(name) for name in METRICS}
    found = []
    for text in (part.strip() for part in names.split(",")):
        plain = _plain(text)
        choice = Choice(text, plain.removesuffix("-gt"), "removed" if plain.endswith("-gt") else "kept")
        base, _, cutoff = choice.name.rpartition("@")
        bare = base if _CUTOFF.fullmatch(cutoff) else choice.name
        of_list = " " in text and any(_plain(f"{_LIST}{text.split(' ', 1)[1]}").startswith(name) for name in known)
        if bare not in known and not of_list:
            what = f"there is no metric '{text}'; there are: {', '.join(_short_names())} (with a cut-off from 1: R@1)"
            guess = did_you_mean(text.upper(), _short_names())
            raise InputError(what if guess else f"{what}.", where="--metrics", cure=guess)
        found.append(choice)
    return list(each_once(found, lambda one: one[1:]))


def _short_names() -> list[str]:
    """List what ``choices_of`` calls every metric of the registry but lists of positives and hubs."""
    names = {"N@k": "NCS", "Med r": "MedR", "Mean r": "MeanR"}
    all_names = (name for name in METRICS if _LIST not in name and not METRICS[name].is_hubness)
    return list(dict.fromkeys(names.get(name, name.removesuffix("@k").replace(" ", "")) for name in all_names))


def _plain(name: str) -> str:
    """Return a metric's name without what may be left out: "r@1", "medr", "n"."""
    plain = name.lower().replace(" ", "").removesuffix("@k")
    return f"n{plain.removeprefix('ncs')}" if plain.startswith("ncs") else plain


def shown_name(metric: str) -> str:
    """Return what people read: ``NCS@1`` of ``N@1``, which files and settings call it."""
    return f"NCS{metric[1:]}" if metric.startswith("N@") else metric


def pattern_of(metrics: Iterable[Metric]) -> str:
    """Return a regular expression that matches the names of these metrics at every cut-off, and nothing else."""
    names = [re.escape(metric.name).replace("\\ ", " ").replace("@k", f"@{_CUTOFF.pattern}") for metric in metrics]
    return f"^({'|'.join(names)})$"


def metric_rows() -> list[list[str]]:
    """List the columns ``METRIC_HEADINGS`` of every metric; empty where there is no unit, better side or need."""
    rows = [
        [shown_name(one.name), one.measures, one.unit, one.better, one.needs, one.source] for one in METRICS.values()
    ]
    return [["" if cell in ("none", "neither") else cell for cell in row] for row in rows]


def metrics_table() -> str:
    """Return all metrics as a Markdown table."""
    rows = [METRIC_HEADINGS, ["---"] * len(METRIC_HEADINGS)]
    rows += [[f"`{name}`", *others] for name, *others in metric_rows()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
