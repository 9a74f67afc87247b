"""The words of this project that a newcomer trips over: what each means, and where it occurs.

``fivesentences glossary`` prints them and ``docs/glossary.md`` is written from them. Metrics as such are in
``metrics/registry.py``; here are only those whose name does not say what they are. It imports only the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fivesentences.errors import InputError, did_you_mean

Stage = Literal["data", "features", "phi", "training", "evaluation", "tables"]
STAGES: dict[Stage, str] = {
    "data": "Data",
    "features": "Features of images",
    "phi": "phi: what captions say about each other",
    "training": "Losses and training",
    "evaluation": "Evaluation",
    "tables": "Scales, studies and tables",
}


@dataclass(frozen=True, kw_only=True)
class Term:
    """One word.

    Attributes:
        word: As it is written where it occurs.
        stage: The heading that it stands below.
        means: What it means, in one to three sentences.
        page: The page that defines it in full, seen from the root of the repository, with a heading after ``#``.
        options: Where commands have it: the command and the option or argument, as in ``evaluate --phi``.
        keys: Where files of the configuration have it: the kind of file and the key, as in ``scale: roles``.
        shown: What tables, their notes and CSV files call it.
        also: Other words for the same thing.
    """

    word: str
    stage: Stage
    means: str
    page: str
    options: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Where it occurs, in words; empty if nowhere in particular."""
        parts = []
        if self.options:
            parts.append(f"options: {', '.join(self.options)}")
        if self.keys:
            parts.append(f"configuration: {', '.join(self.keys)}")
        if self.shown:
            parts.append(f"shown as: {', '.join(self.shown)}")
        return "; ".join(parts)


_SCALE, _STUDY = "config/README.md#a-scale-configscaleyaml", "config/README.md#studies-configstudiespaperyaml"
_ROWS, _RUNS = "config/README.md#which-rows-a-scale-makes", "config/README.md#runs-jobs-and-what-is-kept"
_OWN, _DOWNLOADS = "config/README.md#your-own-images-and-captions", "config/README.md#downloads-configdatasetsyaml"
_MODEL, _METRICS = "docs/your_model.md", "docs/metrics.md"
_HUBS, _TEST = "docs/your_model.md#hubs", "docs/your_model.md#is-the-difference-more-than-chance"
_PHI = "docs/semantics.md"
_LOSSES, _SAM = "docs/losses.md", "docs/losses.md#semantic-adaptive-margin"
_AGREEMENT = "docs/semantics.md#table-1-of-five_sentences"
_CATEGORIES, _SCHEDULED = "config/README.md#category-retrieval", "docs/losses.md#scheduled-adaptive-margin"

# fmt: off
TERMS: tuple[Term, ...] = (
    # --- data
    Term(
        word="corpus", stage="data", page=_OWN,
        means="One dataset as a table with a row per caption: image, photograph, caption, split. The workflow writes "
        "it as results/corpus/NAME.parquet, and everything later reads it in its order.",
        options=("train --corpus", "similarity --corpus"),
    ),
    Term(
        word="split", stage="data", page=_OWN,
        means="A part of a dataset. Models learn from train, the epoch whose weights are kept is chosen on dev (also "
        "called val), and numbers are measured on test.",
        options=("similarity --split",), shown=("split",), also=("train", "dev", "test"),
    ),
    Term(
        word="loader", stage="data", page=_OWN,
        means="What reads a dataset: scenes, flickr8k, karpathy (a JSON of captions such as Flickr30K's), precomp, or "
        "folder for images and a CSV of your own.",
        keys=("scale: loader",),
    ),
    Term(
        word="scenes", stage="data", page="README.md#two-commands",
        means="Pictures drawn and captioned by a program of this package, the corpus of the demo. What is true of a "
        "picture is known, so no people are needed to judge captions.",
        keys=("scale: loader",), shown=("scenes",),
    ),
    Term(
        word="precomp", stage="data", page=_OWN,
        means="A folder <name>_precomp as SCAN and its successors publish it: captions as text, five lines per image, "
        "and precomputed features of the images, without photographs. It is read where it is. Some repeat the "
        "features of an image once per caption, and then every fifth row is read.",
        keys=("scale: loader", "scale: folder", "scale: prefix"),
    ),
    Term(
        word="fraction", stage="data", page=_STUDY,
        means="The share of the training captions that a run learns from, above 0 and at most 1: the first ones of "
        "the file as in the released code, or (draw: seeded) whole images drawn at random.",
        keys=("study: fraction", "run: fraction", "scale: draw"), shown=("fraction",),
    ),
    Term(
        word="captions per image", stage="data", page=_STUDY,
        means="How many captions of each training image a run learns from, the first ones; all images stay. A "
        "fraction shortens the list of captions instead, and images with it.",
        keys=("study: captions_per_image", "run: captions_per_image"),
    ),
    Term(
        word="image of caption", stage="data", page=_MODEL,
        means="The index of each caption's image, from 0. Where none is given, all images have the same number of "
        "captions, those of an image stand together, and images are in order (image-major blocks).",
        options=("evaluate --image-of-caption", "compare --image-of-caption", "phi --per-image"),
        also=("image-major", "pairing"),
    ),
    Term(
        word="catalogue", stage="data", page=_DOWNLOADS,
        means="The list of every download, config/datasets.yaml: address, SHA-256, size and licence.",
        options=("download --catalogue", "doctor --catalogue"),
    ),
    Term(
        word="mirror", stage="data", page=_SCALE,
        means="A folder with copies of the downloads, laid out like data/, which are used before the network is. The "
        "environment variable FIVESENTENCES_MIRROR names one, too.",
        options=("download --mirror", "phi --mirror", "doctor --mirror", "jars --mirror"), keys=("scale: mirror",),
    ),
    Term(
        word="judge", stage="data", page=_AGREEMENT,
        means="Who says how well a caption fits an image: people (CxC for MS-COCO; experts or a crowd for Flickr8k), "
        "or for drawn scenes the program that drew them. A phi is good if it agrees with them.",
        keys=("scale: judges",), shown=("judge",),
    ),
    Term(
        word="document", stage="data", page=_CATEGORIES,
        means="In category retrieval, an image with its text and a category. What is relevant to a query are all items "
        "of its category, not only its own.",
        keys=("scale: documents",), shown=("documents",),
    ),
    Term(
        word="division", stage="data", page=_CATEGORIES,
        means="Which documents are for training, validation and test. Each seed draws its own, which is kept in a CSV; "
        "printed has the sizes of the paper, whole_test the whole published test part.",
        keys=("scale: divisions", "study: division"), shown=("division",), also=("printed", "whole_test"),
    ),
    # --- features
    Term(
        word="features", stage="features", page=_SCALE,
        means="Images as vectors, computed once by an extractor (a network, or grid_descriptors without one) or "
        "published with a dataset. Models read these, never pixels.",
        options=("train --features", "similarity --features"), keys=("scale: features", "run: extractor"),
        shown=("features",), also=("extractor",),
    ),
    Term(
        word="layout", stage="features", page=_SCALE,
        means="global: one vector per image. grid: several, one per region. VSE++ reads global features, the other "
        "models read regions, unless an exception of a scale says otherwise.",
        keys=("scale: layout", "run: layout"), also=("global", "grid"),
    ),
    Term(
        word="region", stage="features", page=_SCALE,
        means="A part of an image that has a vector of its own: a cell of a regular grid (regions: 36 pools the cells "
        "to 6 x 6), or in the authors' files mostly one of 36 detected objects.",
        keys=("scale: regions", "scale: grid_features"),
    ),
    Term(
        word="prepare", stage="features", page=_SCALE,
        means="What happens to features before a model reads them: as_stored, nothing; standardise, mean 0 and "
        "deviation 1 in every dimension over the training images; normalise, each vector to length 1.",
        keys=("scale: prepare", "run: prepare"), also=("as_stored", "standardise", "normalise"),
    ),
    Term(
        word="further features", stage="features", page=_SCALE,
        means="Other features than the usual ones of a scale, by name, for rows that ask for them (resnet152). A row "
        "whose features a scale does not have is left out.",
        keys=("scale: further_features", "study: features"),
    ),
    # --- phi
    Term(
        word="phi", stage="phi", page=_PHI,
        means="A matrix [captions, images] that says how well a caption describes an image, from text alone: the "
        "caption is compared with the image's own captions by CIDEr, SPICE, BLEU or another semantic metric. Written "
        "φ in tables.",
        options=("evaluate --phi", "compare --phi", "train --phi", "phi METRIC"),
        keys=("scale: evaluation_phi", "scale: evaluation_phis", "study: phi"), shown=("phi", "φ"), also=("φ",),
    ),
    Term(
        word="references", stage="phi", page=_AGREEMENT,
        means="The captions of an image that phi compares a caption with. They include the caption itself where it is "
        "one of them (kept, as in the papers), which makes its phi high; own_left_out takes it out.",
        keys=("study: references",), shown=("references",), also=("own_left_out",),
    ),
    Term(
        word="tokenisation", stage="phi", page="docs/semantics.md#names",
        means="How captions are cut into words, the part of a phi's name after the dash: whitespace, reattached "
        "(punctuation joined to its word first) or ptb (Penn Treebank). cider is cider-whitespace.",
        options=("phi METRIC",), shown=("Tokens",), also=("whitespace", "reattached", "ptb"),
    ),
    Term(
        word="tuples", stage="phi", page="docs/semantics.md#spice-without-a-system-java",
        means="What SPICE compares: the objects, attributes and relations that a parser finds in a caption, such as "
        "(dog), (dog, brown), (dog, ball, chase). Parsing is slow, so they are kept in a file (.jsonl.gz).",
        options=("phi --tuples",), shown=("tuples",), also=("scene graph",),
    ),
    Term(
        word="idf corpus", stage="phi", page="docs/semantics.md#names",
        means="The captions in which CIDEr and tf-idf count how rare a word is. A phi of other captions has other "
        "values, even for the same pair.",
        shown=("idf_corpus",), also=("document frequencies",),
    ),
    Term(
        word="top k", stage="phi", page="docs/semantics.md#where-a-matrix-is-too-large",
        means="A phi of which only the K best images of each caption are kept, in a folder, because the whole matrix "
        "would not fit.",
        options=("phi --top-k",),
    ),
    # --- training
    Term(
        word="negatives", stage="training", page=_SAM,
        means="Items of a batch that do not belong to the query, from which a loss pushes it away. SAM takes one: "
        "random, or the closest or the furthest by the model's similarity; triplet losses take all, the hardest (the "
        "most similar) or the k nearest. The SAM paper calls them hard and soft, and its code the other way round.",
        keys=("run: negatives", "study: triplet"), also=("random", "closest", "furthest", "hardest"),
    ),
    Term(
        word="SAM", stage="training", page=_SAM,
        means="Semantic Adaptive Margin, a triplet loss whose margin is how much better, by phi over tau, the positive "
        "describes the image than the negative does.",
        keys=("run: sam",), shown=("SAM",), also=("Semantic Adaptive Margin",),
    ),
    Term(
        word="variant", stage="training", page=_SAM,
        means="Of a loss: paper, as the equations say, or released, as the authors' code computes. In the table of "
        "evaluate the column variant holds what tells two rows of one metric apart.",
        keys=("run: variant",), shown=("variant",),
    ),
    Term(
        word="temperature", stage="training", page=_LOSSES,
        means="What differences are divided by: of phi in SAM (tau; the lower, the larger the margins), of scores in "
        "soft ranks, smooth AP and InfoNCE (T; the lower, the more the closest items decide).",
        keys=("run: temperature",), shown=("τ", "T"), also=("tau",),
    ),
    Term(
        word="widths", stage="training", page=_SCALE,
        means="Sizes of a model's layers (embedding, word, ...). A scale sets them for all models that have them; "
        "they do not show in the names of runs, as other options do.",
        keys=("scale: widths",),
    ),
    Term(
        word="selection", stage="training", page="docs/options.md#training",
        means="The dev score by which the weights of one epoch are kept: rsum, the sum of recalls; ncs, the sum of NCS "
        "by CIDEr; or ncs_discounted, the same with discounted ranks. In category retrieval: map, the best validation "
        "mAP; loss, the lowest validation loss; last.",
        keys=("scale: selection", "scale: selection_images", "run: selection", "study: selection"),
    ),
    Term(
        word="seed", stage="training", page=_SCALE,
        means="The number from which a run's random numbers follow: equal seeds, equal bits. Tables show mean ± sample "
        "standard deviation over a row's seeds, if there are several.",
        keys=("scale: seeds", "scale: other_seeds", "run: seed"), shown=("seed",), options=("compare --seed",),
    ),
    Term(
        word="run", stage="training", page=_RUNS,
        means="One training: one model, loss, part of the training captions and seed. Its folder below "
        "results/training is named by all of these, and run.yaml in it holds every setting.",
        options=("train RUN.yaml|SCALE.yaml", "similarity RUN"), shown=("run",),
    ),
    Term(
        word="job", stage="training", page=_RUNS,
        means="What Snakemake starts and waits for. A training job trains up to runs_per_job runs, one after the "
        "other, because Python and torch take seconds to start.",
        keys=("scale: runs_per_job",),
    ),
    Term(
        word="finished.json", stage="training", page=_RUNS,
        means="The record in a run's folder that it is finished, and of what it was made from. While settings, inputs "
        "and code are the same the run is not trained again; remove the file to train it again.",
    ),
    Term(
        word="ensemble", stage="training", page=_STUDY,
        means="Several trained models whose similarities are averaged and evaluated as one, such as SGRAF (SGR and "
        "SAF).",
        keys=("study: ensembles",),
    ),
    Term(
        word="concepts", stage="training", page="docs/options.md#cvse",
        means="The most frequent words of the training captions (300, a width), with which CVSE describes images "
        "and captions beside their own vectors.",
        options=("checkpoint import --concept-vectors",), keys=("scale: widths",), shown=("concepts",),
    ),
    Term(
        word="leaking", stage="training", page="docs/options.md#cvse",
        means="CVSE as first released: at test each caption comes with the concepts of all captions of its image, "
        "which reveals what belongs together. Its numbers cannot be compared with the others.",
        keys=("run: labels",), shown=("CVSE (leak)",),
    ),
    Term(
        word="method", stage="training", page="docs/options.md#category-retrieval",
        means="What maps the images and texts of documents into one subspace: a closed form such as CCA, classifiers, "
        "or networks with a loss. A study names methods and their settings.",
        keys=("study: methods", "study: method", "scale: methods"), shown=("method",), also=("subspace",),
    ),
    Term(
        word="scheduled adaptive margin", stage="training", page=_SCHEDULED,
        means="The margin of a triplet that moves, as training goes on, from a fixed one to one that depends on how "
        "far the two documents, and the centroids of their categories, are from each other.",
        keys=("study: toward",), shown=("scheduled adaptive margin",),
    ),
    Term(
        word="α(t)", stage="training", page=_SCHEDULED,
        means="The weight of the adaptive margin at epoch t, from 0 to 1; the fixed margin has the rest. It is 1/2 at "
        "the share fₐ (start) of the epochs and rises by the steepness k.",
        keys=("study: start", "study: steepness"), shown=("α(t)", "fₐ"), also=("alpha", "fₐ", "schedule"),
    ),
    Term(
        word="λ", stage="training", page=_SCHEDULED,
        means="In the adaptive margin, the weight of the distance of original features; the distance of centroids has "
        "the rest.",
        keys=("study: feature_share",), shown=("λ",), also=("lambda",),
    ),
    Term(
        word="centroid", stage="training", page=_SCHEDULED,
        means="The mean of the training documents of one category in the subspace.",
        keys=("study: centroids", "study: centroid_similarity"), shown=("centroids",),
    ),
    # --- evaluation
    Term(
        word="similarity", stage="evaluation", page=_MODEL,
        means="The matrix [images, captions] of a model's scores, larger is more similar. Every number of an "
        "evaluation follows from it, and for semantic metrics from phi.",
        options=("evaluate MODEL", "evaluate --transposed"),
    ),
    Term(
        word="direction", stage="evaluation", page=_MODEL,
        means="i2t: images are queries and captions are searched. t2i: captions are queries and images are searched. "
        "compare calls it side, and both is a sum or mean over the two.",
        keys=("study: direction",), shown=("direction", "side", "i2t", "t2i"),
        also=("i2t", "t2i", "side"),
    ),
    Term(
        word="gallery", stage="evaluation", page=_MODEL,
        means="The items among which a query searches: all captions for i2t, all images for t2i, of the matrix or of "
        "one fold of it. Numbers of galleries of different sizes cannot be compared.",
        options=("evaluate --dataset",), shown=("gallery",),
    ),
    Term(
        word="protocol", stage="evaluation", page=_MODEL,
        means="How a benchmark cuts a test split into galleries: coco-5k has one of 5,000 images, coco-1k-5fold the "
        "mean of five of 1,000, coco-1k-first the first 1,000 alone.",
        options=("evaluate --protocol", "compare --protocol"), shown=("protocol",),
    ),
    Term(
        word="fold", stage="evaluation", page=_MODEL,
        means="One of the five galleries of 1,000 images, in file order, into which coco-1k-5fold cuts COCO's test "
        "split; their numbers are averaged.",
        options=("evaluate --dataset",), shown=("folds",),
    ),
    Term(
        word="ground truth", stage="evaluation", page=_MODEL,
        means="The query's own items: an image's captions, a caption's image. In the column GT, kept counts them like "
        "all others; removed takes them out of the ranking and of what could be found, so that only other items, "
        "which recall calls wrong, decide.",
        keys=("study: ground_truth",), shown=("GT", "kept", "removed", "ground_truth"),
        also=("GT", "kept", "removed", "own items"),
    ),
    Term(
        word="cut-off", stage="evaluation", page=_MODEL,
        means="k of R@k: how many of the first items of a ranking count.",
        options=("evaluate --ks",), shown=("cut-off",), also=("k", "@k"),
    ),
    Term(
        word="tie rule", stage="evaluation", page=_MODEL,
        means="What becomes of equal scores. They are ordered by index, lower first, in every ranking. ASP can also "
        "give them the mean of their ranks (ties by average).",
        options=("evaluate --all",), keys=("study: ties",), shown=("tie_rule", "ties by"), also=("ties",),
    ),
    Term(
        word="true R@k", stage="evaluation", page=_METRICS,
        means="The share of a query's own items among the first k, which with five captions per image can be 20% at "
        "most for k = 1 (i2t). The R@k of nearly every paper asks only whether any of them is there.",
        shown=("true R@k",),
    ),
    Term(
        word="Rsum", stage="evaluation", page=_METRICS,
        means="The sum of R@k over the cut-offs and both directions, 600 at most for R@1, R@5 and R@10. mR is their "
        "mean. Nsum is the same sum of N@k.",
        keys=("study: metric",), shown=("Rsum", "mR", "Nsum", "sum"), also=("mR", "Nsum"),
    ),
    Term(
        word="mAP@100", stage="evaluation", page=_METRICS,
        means="Mean average precision within the first 100 items, divided by the relevant items found among them; "
        "mAP@100 of possible divides by those that could be among them, and mAP@R ends at R, the number of relevant "
        "items.",
        shown=("mAP@100", "mAP@100 of possible", "mAP@R"), also=("mAP@k", "mAP@R", "mAP@100 of possible"),
    ),
    Term(
        word="N@k", stage="evaluation", page=_METRICS,
        means="NCS, normalised cumulative semantic score: the phi of the first k items over the largest phi that k "
        "items could have.",
        options=("evaluate --discounted", "evaluate --ncs-ms"), shown=("N@k",), also=("NCS",),
    ),
    Term(
        word="SR@k", stage="evaluation", page=_METRICS,
        means="Semantic recall: the share of the items that phi calls relevant, own or not, among the first k.",
        options=("evaluate --ms", "evaluate --soft"), keys=("study: m",), shown=("SR@k",), also=("semantic recall",),
    ),
    Term(
        word="relevant set", stage="evaluation", page=_MODEL,
        means="The items that semantic recall wants found. Released formula: all captions of the m images that are "
        "most like the query's image by phi (for a caption, these m images). Paper formula: the m items of highest "
        "phi.",
        options=("evaluate --ms", "evaluate --ncs-ms"), keys=("study: m",), shown=("m",), also=("m",),
    ),
    Term(
        word="released formulas", stage="evaluation", page=_MODEL,
        means="N@k and SR@k as the authors' code computes them, from which the papers' numbers come, and which are "
        "reported unless --all asks for both. The paper formulas are the equations as printed: N@k then credits only "
        "items that are among the m of highest phi, and SR@k takes these m as its relevant set.",
        options=("evaluate --all",), keys=("study: formula",), shown=("released formulas", "formula"),
        also=("paper formulas", "formula"),
    ),
    Term(
        word="ideal", stage="evaluation", page=_MODEL,
        means="The denominator of N@k: the phi of the best items that could have been retrieved. For an image as "
        "query the ideal pool says among which captions: those of the gallery, or all given rows of a phi that has "
        "more captions than the gallery, as in the released evaluation of COCO's first 1,000 images.",
        options=("evaluate --ideal-pool",), shown=("given_rows",), also=("ideal pool", "given rows"),
    ),
    Term(
        word="style", stage="evaluation", page=_MODEL,
        means="Of SR@k: recall, the share of the relevant items that is found; or vse_recall, whether any of them is, "
        "as R@k asks.",
        options=("evaluate --all",), keys=("study: style",), shown=("vse_recall", "style"), also=("vse_recall",),
    ),
    Term(
        word="weighting", stage="evaluation", page=_MODEL,
        means="Of SR@k: hard, every relevant item counts the same; or soft, each counts by its phi.",
        options=("evaluate --soft",), shown=("weighting", "soft"), also=("soft", "hard"),
    ),
    Term(
        word="ASP", stage="evaluation", page=_METRICS,
        means="Average semantic precision, of DAA: how well the whole ranking agrees with that by phi, 100 if they "
        "are the same. ASP(A) is the ASP of a phi that is the mean of several.",
        options=("evaluate --asp", "evaluate --mean", "compare --asp"), keys=("study: ties",), shown=("ASP",),
        also=("ASP(A)", "mean"),
    ),
    Term(
        word="PMRP", stage="evaluation", page=_METRICS,
        means="Plausible-match R-precision: an item is right if the labels of its image (which objects it shows) "
        "differ from the query's in at most 0, 1 or 2 places; the mean of the three.",
        options=("evaluate --labels", "evaluate --instances"), shown=("PMRP",),
    ),
    Term(
        word="CxC", stage="evaluation", page=_MODEL,
        means="Crisscrossed Captions: people's ratings of further pairs of MS-COCO's 5K test split. Pairs with a good "
        "rating are positives of CxC R@k; the ratings themselves are a judge of phi.",
        options=("evaluate --cxc", "evaluate --eccv"), keys=("scale: judge",), shown=("CxC",),
    ),
    Term(
        word="ECCV Caption", stage="evaluation", page=_MODEL,
        means="A longer list of positives for a part of MS-COCO's 5K test split, made by models and checked by people "
        "(Chun et al. 2022), with R@k, R-precision and mAP@R.",
        options=("evaluate --eccv",), shown=("ECCV",), also=("positives", "list of positives"),
    ),
    Term(
        word="hub", stage="evaluation", page=_HUBS,
        means="An item that is the nearest of many queries. The columns hubs 0, 1, >=2, >=5 and >=10 say what share "
        "of the items is nearest to so many queries (N₁), hubs max is the largest number, and skewness and Gini say "
        "how unequal the numbers are: that is hubness.",
        options=("evaluate --hubs", "evaluate --hub-ks"), shown=("hubs", "N₁"), also=("hubs", "hubness", "N₁"),
    ),
    Term(
        word="inference", stage="evaluation", page=_HUBS,
        means="How the similarity of a trained model is read: naive, as it is, or re-scored by a similarity "
        "normalisation (inverted_softmax, csls, assignment). No model is trained for it.",
        options=("evaluate --inference",), keys=("study: inference", "scale: inferences"), shown=("inference",),
        also=("similarity normalisation", "naive", "inverted_softmax", "csls", "assignment"),
    ),
    Term(
        word="transductive", stage="evaluation", page=_HUBS,
        means="Of a method that needs all test queries at once, such as every inference method but naive: no query "
        "could be answered alone, so say it beside the numbers.",
        shown=("Transductive",),
    ),
    Term(
        word="cluster", stage="evaluation", page=_TEST,
        means="In the paired test of two models, an image with its captions, whose differences are flipped together "
        "because they are not independent.",
        options=("compare --method", "compare --resamples"), shown=("clusters",),
    ),
    # --- scales, studies, tables
    Term(
        word="scale", stage="tables", page=_SCALE,
        means="How big the experiments are: one file config/NAME.yaml with the datasets, features, training settings "
        "and seeds for which the studies' tables are made. demo takes minutes on a laptop; paper is that of the "
        "papers.",
        options=("train RUN.yaml|SCALE.yaml",), keys=("scale: scale", "scale: extends"), shown=("scale",),
    ),
    Term(
        word="study", stage="tables", page=_STUDY,
        means="One paper: its losses, variants of models, tables and figures, in config/studies/NAME.yaml. It speaks "
        "of datasets by their roles and sets no hyperparameter; both are the scale's.",
        keys=("scale: studies",),
    ),
    Term(
        word="role", stage="tables", page=_SCALE,
        means="The name by which a study speaks of a dataset (flickr30k, coco). A scale says which dataset plays it: "
        "in the demo drawn scenes play flickr30k. Rows whose role no dataset plays are left out.",
        keys=("scale: roles", "study: role"), shown=("plays the role of",),
    ),
    Term(
        word="row", stage="tables", page=_STUDY,
        means="A line of a table of runs: a role, model, loss, part of the training captions and inference, trained "
        "once per seed. Lists in a row of a study are multiplied out into several.",
        keys=("study: rows",),
    ),
    Term(
        word="kind", stage="tables", page=_STUDY,
        means="What sort of table or figure an entry of a study is (runs, agreement, hubness, ...), on which its "
        "further keys depend.",
        keys=("study: kind",),
    ),
    Term(
        word="published", stage="tables", page=_STUDY,
        means="The paper's value, shown below ours. A difference is shown only where dataset, features, gallery size "
        "and phi are those of the paper.",
        keys=("study: published", "study: published_rows"), shown=("published",),
    ),
    Term(
        word="keep", stage="tables", page=_ROWS,
        means="The only rows that a scale makes, to save time. The target complete makes all of them.",
        keys=("scale: keep",), also=("complete",),
    ),
    Term(
        word="leave out", stage="tables", page=_SCALE,
        means="Losses, fractions, inference methods or phi for which a scale has no time or no means (Java), not even "
        "in complete. Tables say so.",
        keys=("scale: leave_out",), also=("leave_out",),
    ),
    Term(
        word="exception", stage="tables", page="config/README.md#what-some-models-or-losses-get-instead",
        means="Other training settings for some models, losses or fractions of a scale; of several that set the same, "
        "the last counts.",
        keys=("scale: exceptions",),
    ),
    Term(
        word="target", stage="tables", page=_ROWS,
        means="What Snakemake is asked to make: a table or figure by its name (table3), a stage (features, semantics, "
        "runs), or complete. Without one it makes everything of the scale.",
    ),
)
# fmt: on


def terms_of(word: str) -> list[Term]:
    """The terms that a word names: the one of that name, or by another name; else all whose names contain it.

    Raises:
        InputError: If there is none; which name is close.
    """
    asked = _plain(word)
    names = {term: [_plain(name) for name in (term.word, *term.also)] for term in TERMS}
    found = [term for term in TERMS if asked == names[term][0]]
    found = found or [term for term in TERMS if asked in names[term]]
    found = found or [term for term in TERMS if asked and any(asked in name for name in names[term])]
    if not found:
        close = did_you_mean(asked, [name for several in names.values() for name in several])
        cure = close or "fivesentences glossary lists its words, and fivesentences metrics every metric"
        raise InputError(f"'{word[:60]}' is not in the glossary", cure=cure)
    return found


def by_stage(terms: Sequence[Term] = TERMS) -> dict[str, list[Term]]:
    """Terms below their headings, in alphabetical order; headings without a term are left out."""
    found = {
        title: sorted((term for term in terms if term.stage == stage), key=lambda term: term.word.casefold())
        for stage, title in STAGES.items()
    }
    return {title: some for title, some in found.items() if some}


def glossary_page() -> str:
    """The page ``docs/glossary.md``."""
    parts = [
        "# Glossary\n\nThe words of this project, by stage; `fivesentences glossary WORD` prints one. The link leads "
        "to the page that defines a word in full. Every metric: [metrics.md](metrics.md).\n"
    ]
    for title, terms in by_stage().items():
        rows = [
            f"| **{term.word}** | {_in_cell(term.means)} | {_in_cell(_marked(term))} | {_link(term.page)} |"
            for term in terms
        ]
        parts.append(
            "\n".join([f"## {title}\n", "| word | meaning | where | more |", "| --- | --- | --- | --- |", *rows, ""])
        )
    parts.append("Written by `fivesentences schema` from `TERMS` in `src/fivesentences/glossary.py`.\n")
    return "\n".join(parts)


def _plain(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def _marked(term: Term) -> str:
    """Where a term occurs, as Markdown."""
    options = ", ".join(f"`{option}`" for option in term.options)
    keys = ", ".join(f"`{key}`" for key in term.keys)
    return "; ".join(part for part in (options, keys, ", ".join(term.shown)) if part)


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _link(page: str) -> str:
    """A link from ``docs/``."""
    path, _, _ = page.partition("#")
    seen_from_docs = page.removeprefix("docs/") if page.startswith("docs/") else f"../{page}"
    return f"[{path.removeprefix('docs/')}]({seen_from_docs})"
