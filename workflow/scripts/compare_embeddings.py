"""The similarity of every image and caption by a dual encoder: cosines of its vectors."""

from pathlib import Path

import numpy as np

from fivesentences.console import log_to
from fivesentences.encoders import EmbeddingFolder
from fivesentences.retrieval import cosine_similarity
from fivesentences.storage import replacing

with log_to(snakemake.log[0]):
    folder = EmbeddingFolder.open(Path(snakemake.input.note).parent)
    images, captions = (np.load(path, mmap_mode="r") for path in (folder.images, folder.vectors))
    with replacing(snakemake.output.similarity) as temporary:
        cosine_similarity(images, captions, temporary)
