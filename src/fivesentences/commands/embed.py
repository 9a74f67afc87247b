"""`fivesentences embed`: images and captions as vectors, by a dual encoder of today."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.arguments import DatasetName
from fivesentences.commands.captions import corpus_of
from fivesentences.commands.sheets import quietly
from fivesentences.config.reading import check
from fivesentences.console import working
from fivesentences.errors import InputError, did_you_mean
from fivesentences.machine import device_named

if TYPE_CHECKING:
    from fivesentences.encoders import CaptionedImages


def embed(
    encoder: Annotated[
        str,
        typer.Argument(
            metavar="ENCODER",
            help="open_clip:MODEL/PRETRAINED, transformers:MODEL, or sentence_transformers:MODEL",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="the embeddings and a note of them")],
    images: Annotated[
        list[Path] | None,
        typer.Option("--images", metavar="PATH", help="folder or .zip of photographs; repeat for more"),
    ] = None,
    captions: Annotated[
        str | None,
        typer.Option(
            "--captions",
            metavar="FILE",
            help=f"captions, one per line; or a corpus, .parquet; or {', '.join(DatasetName)}",
        ),
    ] = None,
    split: given.SplitOf = given.SplitName.TEST,
    image_names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="file of each image, one per line, in the order of the captions"),
    ] = None,
    image_of_caption: given.ImageOfCaption = None,
    per_image: Annotated[int | None, typer.Option(min=1, help="captions per image, which stand together")] = None,
    prompt: Annotated[
        str, typer.Option(metavar="TEXT", help="what every caption is put into, such as 'a photo of {}'")
    ] = "{}",
    max_length: Annotated[
        int | None,
        typer.Option(min=3, metavar="N", help="tokens of a caption that are read; default all"),
    ] = None,
    precision: given.Precision = given.PrecisionName.FLOAT32,
    device: given.Device = given.DeviceName.AUTO,
    batch_size: Annotated[int, typer.Option(min=1, help="images or captions per forward pass")] = 32,
    workers: Annotated[int, typer.Option(min=1, help="threads that read images")] = 2,
    revision: Annotated[
        str | None, typer.Option(metavar="NAME", help="branch, tag or commit of a repository of the Hugging Face Hub")
    ] = None,
    sha256: Annotated[str | None, typer.Option(metavar="HEX", help="refuse other weights than these")] = None,
    data: given.Data = Path("data"),
    mirror: given.Mirror = None,
    catalogue: given.Catalogue = None,
    quiet: given.Quiet = False,
) -> None:
    """Embed images and captions by CLIP, SigLIP or BLIP, for "fivesentences evaluate".

    FOLDER gets images.npy and captions.npy, the captions, and embed.json, which
    says what was embedded and how: model, revision, SHA-256 of the weights,
    preprocessing, prompt, precision, tokenizer, and how many captions were too
    long for the model. A run that was killed resumes; one that is complete is
    left as it is.

    Which image a caption belongs to is never guessed: captions come from a
    corpus or a data set, which name their images, or with --image-names, as
    "fivesentences captions --image-names" writes them.

    Models are fetched from where their library finds them, or named as a local
    folder or checkpoint. Nothing that a model brings along is run.

    Examples:

        fivesentences embed open_clip:ViT-B-32/laion2b_s34b_b79k
        --images flickr8k.zip --captions flickr8k -o clip

        fivesentences embed transformers:google/siglip2-base-patch16-224
        --images photos --captions captions.txt --image-names images.txt -o siglip2

        fivesentences evaluate clip siglip2 --metric cider
    """
    from fivesentences import encoders
    from fivesentences.corpus import Photographs

    started = time.monotonic()
    spec = check(
        encoders.EncoderSpec,
        {
            "encoder": encoder, "prompt": prompt, "max_length": max_length, "precision": precision.value,
            "revision": revision, "sha256": sha256 and sha256.lower(), "batch_size": batch_size,
        },
        "embed",
    )  # fmt: skip
    if images is None or captions is None:
        missing = " and ".join(
            option for option, value in (("--images PATH", images), ("--captions FILE", captions)) if value is None
        )
        raise InputError(f"{encoder} embeds images and their captions; give {missing}.")
    subject = _subject(captions, split, image_names, image_of_caption, per_image, data, mirror, catalogue)
    photographs = Photographs(*images)
    subject.check(photographs)
    with quietly(quiet):
        with working(f"load {encoder}"):
            loaded = encoders.load_encoder(spec, device_named(device.value))
        folder = encoders.embed(loaded, subject, photographs, out, workers)
    if not quiet:
        print(f"{out}: {folder.note['model']}, {folder.note['dim']} dimensions, {time.monotonic() - started:.1f} s")
        print(f"{folder.subject}.")
        for sentence in folder.sentences()[1:]:
            print(sentence)


def _subject(
    captions: str,
    split: str,
    image_names: Path | None,
    image_of_caption: Path | None,
    per_image: int | None,
    data: Path,
    mirror: Path | None,
    catalogue: Path | None,
) -> CaptionedImages:
    from fivesentences.encoders import CaptionedImages

    if captions in set(DatasetName) or Path(captions).suffix == ".parquet":
        asked = {"--image-names": image_names, "--image-of-caption": image_of_caption, "--per-image": per_image}
        for option, value in asked.items():
            if value is not None:
                raise InputError(f"{captions} says itself which image a caption belongs to; leave {option} out.")
        return CaptionedImages.of_corpus(corpus_of(captions, split, data, mirror, catalogue), split, captions)
    if not Path(captions).exists() and (hint := did_you_mean(captions, DatasetName)):
        raise InputError(f"'{captions}' is neither a file nor a data set; {hint}")
    if image_names is None:
        raise InputError(
            "a file of captions does not say which image each belongs to",
            where=captions,
            cure="give the file of each image with --image-names FILE, or a corpus (.parquet) in place of the captions",
        )
    if image_of_caption is not None and per_image is not None:
        raise InputError("--per-image and --image-of-caption both say whose a caption is; give one of them.")
    return CaptionedImages.of_files(Path(captions), image_names, image_of_caption, per_image)
