"""`fivesentences embed`: images and captions as vectors, by a dual encoder of today."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from fivesentences import encoders
from fivesentences.choices import Split
from fivesentences.commands.arguments import SPLITS, Device, Downloads, Out, Precision, Quiet, split_asked
from fivesentences.commands.captions import DATASETS, benchmark_called, corpus_of, is_table
from fivesentences.config.reading import check
from fivesentences.console import working
from fivesentences.corpus import Photographs
from fivesentences.encoders import CaptionedImages
from fivesentences.errors import InputError, did_you_mean
from fivesentences.machine import device_named


@dataclass(frozen=True)
class Network:
    """How a model is loaded and applied; the settings of ``EncoderSpec``.

    Attributes:
        prompt: Template of every caption, such as 'a photo of {}'.
        max_length: Tokens of a caption that are read; default all.
        precision: Type in which the network computes.
        batch_size: Images or captions per forward pass.
        revision: Branch, tag or commit of a repository of the Hugging Face Hub.
        sha256: Refuse other weights than these.
    """

    prompt: str = "{}"
    max_length: Annotated[int | None, typer.Option(min=3)] = None
    precision: Precision = "float32"
    batch_size: Annotated[int, typer.Option(min=1)] = 32
    revision: str | None = None
    sha256: str | None = None


def embed(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER")],
    *,
    out: Out,
    images: Annotated[list[Path] | None, typer.Option()] = None,
    captions: str | None = None,
    split: Annotated[Split, typer.Option(parser=split_asked, metavar=SPLITS)] = "test",
    image_names: Path | None = None,
    image_of_caption: Path | None = None,
    per_image: Annotated[int | None, typer.Option(min=1)] = None,
    device: Device = "auto",
    workers: Annotated[int, typer.Option(min=1)] = 2,
    network: Network,
    downloads: Downloads,
    quiet: Quiet = False,
) -> None:
    """Embed images and captions by CLIP, SigLIP or BLIP, for "fivesentences evaluate".

    FOLDER gets images.npy and captions.npy, the captions, and embed.json, which
    says what was embedded and how: model, revision, SHA-256 of the weights,
    preprocessing, prompt, precision, tokenizer, and how many captions were too
    long for the model. A run that was killed resumes; one that is complete is
    left as it is.

    Which image a caption belongs to is never guessed: captions come from a
    corpus, a data set, a token file, CSV or JSON, which name their images, or
    with --image-names, as "fivesentences captions --image-names" writes them.

    Models are fetched from where their library finds them, or named as a local
    folder or checkpoint. Nothing that a model brings along is run.

    Args:
        encoder: open_clip:MODEL/PRETRAINED, transformers:MODEL, or sentence_transformers:MODEL.
        out: Folder for the embeddings and a note of them.
        images: Folder or .zip of photographs; repeat for more.
        captions: Captions, one per line; or a token file, CSV or JSON that names their images; or a corpus, .parquet;
            or a name of "evaluate --dataset".
        split: Split of the corpus or data set.
        image_names: File of each image, one per line, in the order of the captions.
        image_of_caption: Index of each caption's image, from 0, one per line.
        per_image: Captions per image, in consecutive lines.
        device: Where the network runs.
        workers: Threads that read images.
        quiet: No progress bar, and nothing about what was written.

    Examples:

        fivesentences embed open_clip:ViT-B-32/laion2b_s34b_b79k \\
        --images flickr8k.zip --captions flickr8k -o clip

        fivesentences embed transformers:google/siglip2-base-patch16-224 \\
        --images photos --captions captions.txt --image-names images.txt -o siglip2

        fivesentences evaluate clip siglip2 --metric cider
    """
    started = time.monotonic()
    settings = asdict(network) | {"encoder": encoder, "sha256": network.sha256 and network.sha256.lower()}
    spec = check(encoders.EncoderSpec, settings, "embed")
    if images is None or captions is None:
        needed = {"--images PATH": images, "--captions FILE": captions}
        missing = " and ".join(option for option, value in needed.items() if value is None)
        raise InputError(f"{encoder} embeds images and their captions; give {missing}.")
    if benchmark_called(captions) or (Path(captions).suffix == ".parquet" and not is_table(captions)):
        asked = {"--image-names": image_names, "--image-of-caption": image_of_caption, "--per-image": per_image}
        if unwanted := [option for option, value in asked.items() if value is not None]:
            raise InputError(f"{captions} says itself which image a caption belongs to; leave {unwanted[0]} out.")
        subject = CaptionedImages.of_corpus(corpus_of(captions, split, downloads), split, captions)
    else:
        subject = _of_files(captions, split, image_names, image_of_caption, per_image)
    photographs = Photographs(*images)
    subject.check(photographs)
    with working(f"load {encoder}"):
        loaded = encoders.load_encoder(spec, device_named(device))
    folder = encoders.embed(loaded, subject, photographs, out, workers)
    print(f"{out}: {folder.note['model']}, {folder.note['dim']} dimensions, {time.monotonic() - started:.1f} s")
    print(f"{folder.subject}.", *folder.sentences()[1:], sep="\n")


def _of_files(
    captions: str, split: str, image_names: Path | None, image_of_caption: Path | None, per_image: int | None
) -> CaptionedImages:
    if not Path(captions).exists() and (hint := did_you_mean(captions, DATASETS)):
        raise InputError(f"'{captions}' is neither a file nor a data set; {hint}")
    if image_names is None:
        if (
            image_of_caption is None
            and per_image is None
            and (found := CaptionedImages.of_table(Path(captions), split))
        ):
            return found
        raise InputError(
            "a file of captions does not say which image each belongs to",
            where=captions,
            cure="give the file of each image with --image-names FILE, or a corpus (.parquet) in place of the captions",
        )
    if image_of_caption is not None and per_image is not None:
        raise InputError("--per-image and --image-of-caption both say whose a caption is; give one of them.")
    return CaptionedImages.of_files(Path(captions), image_names, image_of_caption, per_image)
