"""The page of queries with what several models retrieve for them."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.corpus import Photographs
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.site.gallery import write_gallery
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.study.study import read_study

with log_to(snakemake.log[0]):
    write_gallery(
        Site.of(snakemake.params.site),
        check(Scale, snakemake.params.scale, "the scale"),
        read_study(Path(snakemake.input.study)),
        Path(snakemake.input.disagreements),
        Photographs(*snakemake.input.photographs),
        Path(snakemake.output.page).parents[1],
    )
