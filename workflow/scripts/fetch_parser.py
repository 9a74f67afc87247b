"""The Java classes of SPICE's parser: in the user's cache, or in the mirror."""

from pathlib import Path

from fivesentences.console import log_to
from fivesentences.semantics.java import jars
from fivesentences.storage import write_json

with log_to(snakemake.log[0]):
    jars.check_java()
    jars.corenlp(Path(snakemake.params.mirror) if snakemake.params.mirror else None)
    write_json(snakemake.output.record, {jar.name: jar.sha256 for jar in (jars.CODE, jars.MODELS)})
