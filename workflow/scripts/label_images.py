"""Which kinds of things COCO's annotators marked in the images of the test split."""

from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.corpus.labels import write_coco_labels

with log_to(snakemake.log[0]):
    images = Corpus.read(snakemake.input.corpus).split("test").images
    write_coco_labels(snakemake.input.instances, list(images["image_id"]), snakemake.output.labels)
