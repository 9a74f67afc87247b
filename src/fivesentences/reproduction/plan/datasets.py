"""Datasets of a plan: the files that captions, photographs, labels and judgements are read from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fivesentences import corpus
from fivesentences.config.consents import is_agreed, request
from fivesentences.config.datasets import Catalogue, CatalogueFile, ScenesData
from fivesentences.config.types import Judge
from fivesentences.corpus.catalogue import PAGE, at_hand, files_to_read, precomp_folder, recorded
from fivesentences.corpus.photograph_digests import Identity, digest_of, identify
from fivesentences.corpus.unpacked import INSTALL, PROGRAMS, archives_unpacked_in, is_unpacked_here, programs_for_rar
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.reproduction.config.scales import JUDGEMENTS, Scale
from fivesentences.reproduction.plan.places import Places
from fivesentences.reproduction.study.exhibits import Exhibit
from fivesentences.storage import write_json
from fivesentences.versions import VERSIONS

# What planning remembers of files that no rule makes: of each its digest, and of captions the images that they name.
FILES, IMAGES = Path(".snakemake/files.json"), Path(".snakemake/images.json")
FOR_CATEGORIES = ("pascal_sentences", "wikipedia_articles")  # loaders of images that are documents alone


class Datasets:
    """Datasets of a scale.

    Attributes:
        own, scenes, precomp: Datasets of a user's own photographs, which change without a rule that makes them; of
            drawn scenes; and of a precomp folder.
        with_parts, with_training_captions: Datasets whose parts are matched, not only divided for category retrieval;
            those whose training captions the scale reads.
        downloads: Dataset and name in the catalogue of each file, by its path.
        folders: Dataset and description of each folder that is unpacked from files of the catalogue, by its path.
        mirror: A folder that holds downloads already, or None.
        download_folders: Where downloads are looked for.
    """

    def __init__(self, scale: Scale, catalogue: Catalogue, places: Places, exhibits: Mapping[str, Exhibit]):
        self.scale, self.catalogue, self.places, self.exhibits = scale, catalogue, places, exhibits
        loaders = {name: data.loader for name, data in self.scale.datasets.items()}
        self.own = [name for name, loader in loaders.items() if loader == "folder"]
        self.scenes = [name for name, loader in loaders.items() if loader == "scenes"]
        self.precomp = [name for name, loader in loaders.items() if loader == "precomp"]
        self.with_parts = [name for name, loader in loaders.items() if loader not in FOR_CATEGORIES]
        splits = {name: getattr(self.scale.datasets[name], "splits", None) for name in self.with_parts}
        self.with_training_captions = [name for name, read in splits.items() if read is None or "train" in read]
        mirror = os.environ.get("FIVESENTENCES_MIRROR")
        self.mirror = Path(mirror) if mirror else None
        self.download_folders = [self.places.data, *([] if self.mirror is None else [self.mirror])]
        entries = self.catalogue.datasets.items()
        self.downloads = {file.path: (name, key) for name, entry in entries for key, file in entry.files.items()}
        self.folders = {
            self.places.data / name: (dataset, folder)
            for dataset, entry in entries
            for name, folder in entry.folders.items()
        }
        self._identities: dict[str, Identity] = {}  # as far as asked for

    def except_for(self, datasets: Iterable[str]) -> list[str]:
        """Return the datasets of the scale without some."""
        return [name for name in self.scale.datasets if name not in datasets]

    def downloaded(self, dataset: str, kind: str, splits: Sequence[str] | None = None) -> list[Path]:
        """Return files of a dataset whose name in the catalogue begins with ``kind``."""
        files = files_to_read(self.catalogue, dataset, kind, splits, self.download_folders)
        return [self.places.data / file for file in files]

    def captions_of(self, dataset: str) -> list[Path]:
        """Return the files that a corpus is read from."""
        data = self.scale.datasets[dataset]
        match data.loader:
            case "folder":
                return [data.captions]
            case "precomp":
                return [data.folder]
            case "scenes":
                return []
        found = self.downloaded(dataset, "text") + self.downloaded(dataset, "captions", data.splits)
        return found or self.downloaded(dataset, "photographs")  # one archive of both

    def photographs_of(self, dataset: str) -> list[Path]:
        """Return the archives or the folder that hold a dataset's photographs."""
        data = self.scale.datasets[dataset]
        match data.loader:
            case "scenes":
                return [self.places.beside_corpus(dataset, "photographs.zip")]
            case "folder":
                return [data.photographs]
        return self.downloaded(dataset, "photographs")

    def variants(self) -> dict[str, dict[str, str]]:
        """Return the downloads of the scale in whose place a mirror may have another file, by path and SHA-256."""
        entries = [self.catalogue.datasets[name] for name in self.scale.datasets if name in self.catalogue.datasets]
        files = [file for entry in entries for file in entry.files.values() if file.variants]
        return {str(self.places.data / file.path): dict(file.variants) for file in files}

    def has_photographs(self, dataset: str) -> bool:
        """Tell whether there are photographs of a dataset: drawn, a user's own, or files of the catalogue."""
        known = dataset in self.catalogue.datasets or dataset in [*self.scenes, *self.own]
        return known and dataset not in self.precomp and bool(self.photographs_of(dataset))

    def digest_of_photographs(self, dataset: str | None) -> Identity | None:
        """Return what identifies a user's own photographs; None for others, which a rule makes or fetches.

        Raises:
            InputError: If they are missing or cannot be read.
        """
        if dataset is None or dataset not in self.own:
            return None
        if dataset not in self._identities:
            memory = self.places.beside_corpus(dataset, "photographs.sha256.json")
            self._identities[dataset] = identify(self.photographs_of(dataset)[0], memory)
        return self._identities[dataset]

    def content_of(self, *files: Path) -> list[str | None]:
        """Return digests of files that no rule makes but ``download``, or of folders.

        Of a download that is not here it is that of the mirror's, and None if there is none.

        Raises:
            InputError: If one cannot be read.
        """
        found = list[str | None]()
        for path in files:
            at = [path]
            if self.mirror is not None and path.is_relative_to(self.places.data):
                at.append(self.mirror / path.relative_to(self.places.data))
            found.append(digest_of(next((one for one in at if one.exists()), path), FILES))
        return found

    def content_of_captions(self, dataset: str) -> list[str | None]:
        """Return digests of what a corpus is read from; of a precomp folder of its texts alone, for arrays are none."""
        data, files = self.scale.datasets[dataset], self.captions_of(dataset)
        if data.loader == "precomp":
            files = sorted(precomp_folder(data.folder, data.prefix).glob("*.txt"))
        return self.content_of(*files)

    def content_of_photographs(self, dataset: str | None) -> str | list[str | None] | None:
        """Return a digest of a dataset's photographs; None of drawn ones, which a rule makes, or of no dataset."""
        if (identity := self.digest_of_photographs(dataset)) is not None:
            return identity.content
        return None if dataset is None or dataset in self.scenes else self.content_of(*self.photographs_of(dataset))

    def content_of_judgements(self, dataset: str, judge: Judge) -> list[str | None] | None:
        """Return digests of the file that holds a judge's scores; None of drawn scenes, which a rule makes."""
        return None if judge == "scenes_truth" else self.content_of(*self.judgements_of(dataset, judge))

    def settings_of(self, dataset: str) -> dict[str, Any]:
        """Return what a loader reads, without defaults: only karpathy may be given an order, not even its default."""
        return self.scale.datasets[dataset].model_dump(mode="json", exclude={"regions"}, exclude_defaults=True)

    def splits_needed(self, dataset: str) -> list[str]:
        """Return splits that a user's own images must have: all, if models are trained on them."""
        return ["train", "dev", "test"] if dataset in self.own and dataset in self.scale.roles.values() else []

    def sizes_of(self, dataset: str) -> dict[str, tuple[int, int]]:
        """Return images and captions of each split, as the scale or the catalogue says."""
        data, entry = self.scale.datasets[dataset], self.catalogue.datasets.get(dataset)
        images: dict[Any, int] = (entry.images if entry else None) or {}
        if isinstance(data, ScenesData):
            images = {"train": data.train, "dev": data.dev, "test": data.test}
        each = getattr(data, "captions_per_image", None) or (entry.captions_per_image if entry else 5)
        splits = getattr(data, "splits", None) or images
        return {split: (images[split], images[split] * each) for split in images if split in splits}

    def digest_of_images(self, dataset: str) -> str | None:
        """Return a digest of the images that a dataset's captions name, in their order, but not of the captions.

        They are read again only if what they are read from has changed. None where they are drawn, or cannot be read.
        """
        data, (captions, *_) = self.scale.datasets[dataset], [*self.captions_of(dataset), None]
        if data.loader == "scenes" or captions is None or not captions.exists():
            return None
        identity = self.digest_of_photographs(dataset)
        made_of = (dataset, data, self.content_of(captions), identity and identity.names, VERSIONS["corpus"])
        key = hashlib.sha256(repr(made_of).encode()).hexdigest()
        try:
            known: dict[str, str] = read_json(IMAGES)
        except InputError:
            known = {}
        try:
            if key not in known:
                if data.loader == "folder":
                    table = corpus.load_folder(data.photographs, captions, dataset, compared=False).images
                else:
                    table = corpus.load(dataset, data, captions).images
                rows = table[["image_id", "filename", "split"]].itertuples(index=False, name=None)
                known[key] = hashlib.sha256("\0".join(map(repr, rows)).encode(errors="surrogateescape")).hexdigest()
                write_json(IMAGES, known)
        except (InputError, OSError):  # the job that loads the corpus says what is wrong
            pass
        return known.get(key)

    def labels_of(self, dataset: str) -> list[Path]:
        """Return which objects are in a dataset's images, if that is known and a table or figure counts by them."""
        entry = self.catalogue.datasets.get(dataset)
        known = dataset in self.scenes or (entry is not None and "instances" in entry.files)
        shown = self.exhibits.values()
        asked = any(column.metric == "PMRP" for exhibit in shown for column in exhibit.metrics())
        asked = asked or any(exhibit.reads == "found_positives" for exhibit in shown)
        if not (known and asked) or self.scale.lacks("labels", dataset):
            return []
        return [self.places.beside_corpus(dataset, "labels.parquet")]

    def judgements_of(self, dataset: str, judge: Judge) -> list[Path]:
        """Return the file that holds a judge's scores."""
        if judge == "scenes_truth":
            return [self.places.beside_corpus(dataset, "truth.npy")]
        return [self.catalogued(*JUDGEMENTS[judge])]

    def catalogued(self, dataset: str, name: str) -> Path:
        """Return the place of a file of the catalogue.

        Raises:
            InputError: If the catalogue lacks it.
        """
        entry = self.catalogue.datasets.get(dataset)
        if entry is None or name not in entry.files:
            raise InputError(f"datasets.{dataset}.files.{name} is not in config/datasets.yaml; add it there.")
        return self.places.data / entry.files[name].path

    def fetched_by_hand(self, file: str) -> str | None:
        """Return what a person must do for a download that is not here; None if it is, or a program brings it.

        The sentence about a consent is the same for all files that need it.
        """
        about = self._about(file)
        if about.made_of or at_hand(file, self.download_folders):
            return None
        if about.consent is not None and not is_agreed(about.consent, self.places.data):
            return request(about.consent, self.catalogue.needing(about.consent), self.places.data)
        if file.endswith(".rar") and not programs_for_rar():
            return f"{self.places.data / file} can be unpacked by no program here ({', '.join(PROGRAMS)}); {INSTALL}."
        if about.url:
            return None
        how = about.fetch_by_hand or "no address is known."
        return f"{self.places.data / file} must be put there by a person: {how}"

    def has_address(self, file: str) -> bool:
        """Tell whether a program fetches a download, once a person has agreed to its terms."""
        return self._about(file).url is not None

    def _about(self, file: str) -> CatalogueFile:
        dataset, name = self.downloads[file]
        return self.catalogue.datasets[dataset].files[name]

    def is_here(self, path: Path) -> bool:
        """Tell whether a download is in place, or in a mirror."""
        return at_hand(path.relative_to(self.places.data), self.download_folders)

    def page_of(self, file: str) -> list[Path]:
        """Return the page that a download is made of; none for files of hosts, of a mirror, or of a person.

        Whether a file in place was made of a page does not depend on a mirror that has been named since.
        """
        dataset, name = self.downloads[file]
        page, target = self.catalogue.datasets[dataset].files[name].made_of, self.places.data / file
        if page is None or (
            (recorded(target) or ("", ""))[1] != PAGE if target.exists() else at_hand(file, self.download_folders)
        ):
            return []
        return [self.catalogued(dataset, page)]

    def makes_folder(self, folder: Path) -> bool:
        """Return True for a folder that is unpacked from downloads: it is not here, or it was unpacked here."""
        return folder in self.folders and (not folder.exists() or is_unpacked_here(folder))

    def archives_of(self, folder: Path) -> list[Path]:
        """Return the archives that a folder of the catalogue is unpacked from, or was, though they may be gone.

        Of archives that each have everything it is the first that is here; else one that another folder, which the
        scale reads, is unpacked from anyway; else the first.
        """
        dataset, about = self.folders[folder]
        files = [self.catalogued(dataset, name) for name in about.archives]
        if not about.any_of_them:
            return files
        if is_unpacked_here(folder):
            return [file for file in files if file.name in archives_unpacked_in(folder)]
        of_others = {
            self.catalogued(of, other.archives[0])
            for path, (of, other) in self.folders.items()
            if path != folder and not path.exists() and len(other.archives) == 1 and path in self.folders_read
        }
        here = [file for file in files if self.is_here(file)]
        return (here or [file for file in files if file in of_others] or files)[:1]

    @property
    def folders_read(self) -> list[Path]:
        """Folders of downloads that the scale reads, and a rule unpacks or a person has put in place."""
        named = [data.folder for data in self.scale.datasets.values() if data.loader == "precomp"]
        regions = [getattr(data, "regions", None) for data in self.scale.datasets.values()]
        named += [one.folder for one in regions if one is not None]
        documents = [] if self.scale.categories is None else self.scale.categories.documents.values()
        named += [spec.folder for spec in documents if spec.loader == "nus_wide"]
        return [folder for folder in dict.fromkeys(named) if folder in self.folders]
