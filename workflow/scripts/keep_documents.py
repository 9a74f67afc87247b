"""Documents of category retrieval as one table, and their vectors as arrays."""

from pathlib import Path

from pydantic import TypeAdapter

from fivesentences.console import log_to
from fivesentences.reproduction.categories.config import AnyDocuments
from fivesentences.reproduction.categories.corpus.loading import load_documents

with log_to(snakemake.log[0]):
    spec = TypeAdapter(AnyDocuments).validate_python(snakemake.params.spec)
    files = {name: Path(file) for name, file in snakemake.input.items()}
    text = snakemake.output.get("text")
    loaded = load_documents(spec, files)
    loaded.write(Path(snakemake.output.documents), Path(snakemake.output.image), text and Path(text))
    for note in loaded.notes:
        print(note)
