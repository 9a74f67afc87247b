"""Features of a plan: which are extracted, reduced or read where they were released."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from fivesentences.config.datasets import PrecompData, ReleasedRegions
from fivesentences.config.features import ENDINGS, FeatureSpec
from fivesentences.corpus.catalogue import precomp_folder
from fivesentences.errors import InputError, did_you_mean
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.plan.datasets import Datasets
from fivesentences.training.spec import RunSpec

LEAST_TO_EXTRACT, MOST_TO_EXTRACT = 4 * 60, 24 * 60  # minutes of a job
# Seconds per photograph, with reserve: bottom-up attention takes 18 on a processor core (docs/detectors.md), ResNet-152
# 0.3 (docs/extraction.md). On a GPU neither was measured.
SECONDS_TO_DETECT, SECONDS_TO_DESCRIBE, SECONDS_ON_GPU = 20.0, 0.5, 1.0
WITHOUT_DOWNLOADS = ("grid_descriptors", "bottom_up")  # an extractor without weights, and one that no library offers


def with_regions_at_hand(scale: Scale) -> Scale:
    """Return a scale whose datasets name released regions only where ``released_regions`` has them read.

    With ``here``, a folder that is not there is not waited for: the dataset gets regions of our own.
    """
    if scale.released_regions == "fetch":
        return scale
    never, datasets = scale.released_regions == "never", dict(scale.datasets)
    for name, data in scale.datasets.items():
        if data.loader == "karpathy" and data.regions and (never or not data.regions.folder.exists()):
            datasets[name] = data.model_copy(update={"regions": None})
    return scale.model_copy(update={"datasets": datasets})


class Features:
    """Features of a scale and of its complete form.

    Attributes:
        extracted_features, reduced_features: Features before and after they are made smaller, by the name of the file.
        released_regions, precomp_features: Datasets of photographs whose regions are in a precomp folder, and all
            features that stay in such a folder.
        extracted: Each (dataset, name of the file) of features that are made of photographs for runs.
        pictured_features, pictured_datasets: Those that pages show, which are none where photographs may not be shown.
    """

    def __init__(self, datasets: Datasets, runs: Collection[RunSpec], of_studies: Iterable[FeatureSpec | None] = ()):
        self.scale, self.catalogue, self.places = datasets.scale, datasets.catalogue, datasets.places
        self.datasets, scale = datasets, datasets.scale
        grid, further = scale.grid_features, scale.further_features.values()
        # Before reduction, by the name of their file; what differs in preparation alone is one of them.
        named = (scale.features, grid, scale.own_grid_features, *further, *of_studies)
        asked = [spec for spec in named if spec is not None]
        self.extracted_features = {spec.source: spec.extraction for spec in asked}
        self.released_regions = [name for name, data in scale.datasets.items() if getattr(data, "regions", None)]
        released = [grid.source] if grid is not None and self.released_regions else []
        self.precomp_features = list(self.extracted_features) if self.datasets.precomp else released
        read = {(run.dataset, run.features.source): run.features for run in runs}
        self.extracted = sorted(one for one, features in read.items() if not self.is_described(one[0], features))
        self.pictured_features = self.extracted if scale.photographs else []
        self.datasets_of_runs = sorted({run.dataset for run in runs})
        self.pictured_datasets = self.datasets_of_runs if scale.photographs else []
        specs = [run.features for run in runs]
        if scale.features is not None and scale.categories is not None:
            specs.append(scale.features)  # of documents that are images of a corpus
        self.reduced_features = {spec.stem: spec for spec in specs if spec.stem != spec.source}

    def sources_of_regions(self) -> list[str]:
        """Say of each dataset whose regions its runs read, where released and own ones are to be chosen from."""
        own, found = self.scale.own_grid_features, list[str]()
        if own is None:
            return []
        for dataset in self.datasets_of_runs:
            data = self.scale.datasets[dataset]
            if data.loader == "karpathy" and data.regions is not None:
                found.append(f"Regions of {dataset}: as released, in {data.regions.folder}.")
            elif data.loader == "karpathy":
                setting = f"released_regions: {self.scale.released_regions}"
                found.append(f"Regions of {dataset}: our own, {own.stem}, of its photographs ({setting}).")
        return found

    @property
    def checked(self) -> list[str]:
        """Regions of our own that are compared with released ones before they are made: those of the same network."""
        own = self.scale.own_grid_features
        same = own is not None and (own.extractor, own.layout) == ("bottom_up", "regions")
        return [own.source] if own is not None and same and self.scale.released_sample is not None else []

    @property
    def sample_files(self) -> dict[str, list[Path]]:
        """The photographs and the released regions of the sample; of a folder of downloads they are its files."""
        sample = self.scale.released_sample
        assert sample is not None  # asked for by the rule of what is checked
        downloads = [self.places.data / file for file in self.datasets.downloads]
        below = [path for path in downloads if path.is_relative_to(sample.photographs)]
        return {"photographs": below or [sample.photographs], "regions": [sample.regions]}

    def checks_of(self, extracted: str) -> list[Path]:
        """Return what says that features are as released, where that is checked."""
        return [self.places.feature_file("released_sample", f"{extracted}.json")] if extracted in self.checked else []

    def extracted_here(self, *, parts: bool, regions: bool | None = None) -> list[str]:
        """Return features to extract from photographs: in several jobs or one, regions or not (None: either)."""
        grid = self.scale.grid_features
        released = grid.source if grid is not None and self.released_regions else None
        return [
            name
            for name, spec in self.extracted_features.items()
            if name != released and (spec.parts > 1) == parts and regions in (None, spec.layout == "regions")
        ]

    def is_described(self, dataset: str, features: FeatureSpec) -> bool:
        """Tell whether features are in a precomp folder, of which only a description is made."""
        grid = self.scale.grid_features
        of_folder = dataset in self.released_regions and grid is not None and features.source == grid.source
        return of_folder or dataset in self.datasets.precomp

    def folder_of_features(self, dataset: str) -> PrecompData | ReleasedRegions:
        """Return the precomp folder of a dataset, or of its regions."""
        data = self.scale.datasets[dataset]
        regions = data.regions if data.loader == "karpathy" else None
        found = data if data.loader == "precomp" else regions
        assert found is not None  # the rule's constraints
        return found

    def content_of_folder(self, dataset: str) -> list[str | None]:
        """Return digests of what the precomp folder of a dataset holds of features: all of it but the texts."""
        data = self.folder_of_features(dataset)
        files = sorted(precomp_folder(data.folder, data.prefix).iterdir()) if data.folder.is_dir() else []
        kept = (file for file in files if file.suffix != ".txt" and not file.name.startswith("."))
        return self.datasets.content_of(*kept)

    def images_of(self, dataset: str) -> Path:
        """Return the images that features are made of: a corpus without its captions, or drawn scenes."""
        drawn = dataset in self.datasets.scenes
        return self.places.corpus(dataset) if drawn else self.places.images(dataset)

    def before_reduction(self, dataset: str, reduced: str) -> Path:
        """Return the features that are to be reduced."""
        spec = self.reduced_features[reduced]
        return self.places.source_of_features(dataset, spec, self.is_described(dataset, spec))

    def sizes_of(self, reduced: str) -> dict[str, int | None]:
        """Return to how many regions and dimensions features are reduced; None keeps them, and only halves numbers."""
        spec = self.reduced_features[reduced]
        return {"regions": spec.regions if spec.layout == "grid" else None, "dimensions": spec.dimensions}

    def settings_of(self, extracted: str) -> dict[str, Any]:
        """Return the settings of an extraction as plain data."""
        return self.extracted_features[extracted].model_dump(mode="json", exclude_defaults=True)

    def on_gpu(self, extracted: str) -> bool:
        """Tell whether features must be extracted on a GPU: by a network, at a scale that has one."""
        return self.scale.training.gpu and self.extracted_features[extracted].extractor != "grid_descriptors"

    def minutes_to_extract(self, dataset: str, extracted: str) -> int:
        """Return the time that a scheduler should grant a first attempt to extract features, or a part of them.

        A job that meets its limit loses no finished image, so that none needs to have more than a day.
        """
        seconds = self.seconds_to_extract(dataset, extracted) / self.extracted_features[extracted].parts
        return min(max(LEAST_TO_EXTRACT, math.ceil(60 + seconds / 60)), MOST_TO_EXTRACT)

    def seconds_to_extract(self, dataset: str, extracted: str) -> float:
        """Return about how long features of all images of a dataset take, with reserve; 0 if it has no known size."""
        spec, images = self.extracted_features[extracted], sum(n for n, _ in self.datasets.sizes_of(dataset).values())
        on_processor = SECONDS_TO_DETECT if spec.layout == "regions" else SECONDS_TO_DESCRIBE
        return (SECONDS_ON_GPU if self.on_gpu(extracted) else on_processor) * images

    def weights_of(self, extracted: str) -> list[Path]:
        """Return the file of an extractor's weights; none if a library fetches its own, whatever a mirror has.

        Raises:
            InputError: If the catalogue lacks it.
        """
        spec = self.extracted_features[extracted]
        if spec.weights is None:
            return []
        if not spec.from_catalogue:
            return [spec.weights]
        known = self.catalogue.datasets.get("weights")
        files, name = {} if known is None else known.files, str(spec.weights)
        if name not in files:
            hint = did_you_mean(name, sorted(files)) or f"there are: {', '.join(files) or 'none'}."
            raise InputError(
                f"weights is '{name}', which is not a name under weights in config/datasets.yaml (a file would end in "
                f"{ENDINGS[0]}, for example); {hint}"
            )
        return [self.places.data / files[name].path]

    def network_of(self, extracted: str) -> list[str]:
        """Return the record that a library has fetched the weights of an extractor, where one does."""
        extractor = self.extracted_features[extracted].extractor
        fetches = not self.weights_of(extracted) and extractor not in WITHOUT_DOWNLOADS
        return [str(self.places.fetched(f"networks/{extractor}"))] if fetches else []

    def of_run(self, spec: RunSpec) -> Path:
        """Return the features that a run reads."""
        return self.places.features(spec.dataset, spec.features, self.is_described(spec.dataset, spec.features))
