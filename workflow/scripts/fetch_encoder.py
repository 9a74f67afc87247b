"""One dual encoder, in the cache of the library that downloads it."""

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.encoders import EncoderSpec, load_encoder
from fivesentences.storage import write_json

with log_to(snakemake.log[0]):
    spec = check(EncoderSpec, snakemake.params.encoder, snakemake.wildcards.encoder)
    encoder = load_encoder(spec)
    write_json(snakemake.output.record, {key: encoder.facts[key] for key in ("library", "model", "weights_sha256")})
