"""One dual encoder, in the cache of the library that downloads it."""

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.encoders import Settings, load_encoder, parse_encoder
from fivesentences.encoders.spec import EncoderSpec
from fivesentences.storage import write_json

with log_to(snakemake.log[0]):
    spec = check(EncoderSpec, snakemake.params.encoder, snakemake.wildcards.encoder)
    encoder = load_encoder(parse_encoder(spec.encoder), Settings.of(spec, "cpu"), spec.sha256)
    write_json(snakemake.output.record, {key: encoder.facts[key] for key in ("library", "model", "weights_sha256")})
