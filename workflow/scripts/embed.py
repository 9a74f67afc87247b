"""Images and captions of a dataset's test split as vectors, by a dual encoder."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.corpus import Corpus, Photographs
from fivesentences.encoders import CaptionedImages, EncoderSpec, embed, load_encoder
from fivesentences.machine import device_named, stay_offline

with log_to(snakemake.log[0]):
    stay_offline()  # a rule that is local to the submitting machine has fetched what is needed
    spec = check(EncoderSpec, snakemake.params.encoder, snakemake.wildcards.encoder)
    embed(
        load_encoder(spec, device_named("auto")),
        CaptionedImages.of_corpus(
            Corpus.read(snakemake.input.corpus).split("test"), "test", str(snakemake.input.corpus)
        ),
        Photographs(*snakemake.input.photographs),
        Path(snakemake.output.note).parent,
        snakemake.threads,
    )
