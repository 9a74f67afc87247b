"""Weights of one network, in the cache of the library that downloads them."""

from fivesentences.console import log_to
from fivesentences.features.networks import fetch_network
from fivesentences.storage import write_json

with log_to(snakemake.log[0]):
    write_json(snakemake.output.record, fetch_network(snakemake.wildcards.network))
