"""The overview of a scale: what was measured, what was found, and where to read on."""

from pathlib import Path

from fivesentences.config.reading import check
from fivesentences.console import log_to
from fivesentences.corpus import Corpus
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.paper.claims.writing import read_claims
from fivesentences.reproduction.paper.site.overview import about_corpora, write_about, write_overview
from fivesentences.reproduction.paper.site.pictures import read_examples, read_features_sheet
from fivesentences.reproduction.paper.site.shell import Site
from fivesentences.reproduction.study.study import read_study

with log_to(snakemake.log[0]):
    about = about_corpora([Corpus.read(path) for path in snakemake.input.corpora])
    write_about(about, Path(snakemake.output.about))
    write_overview(
        Site.of(snakemake.params.site),
        check(Scale, snakemake.params.scale, "the scale"),
        {Path(path).stem: read_study(Path(path)) for path in snakemake.input.studies},
        Path(snakemake.output.page).parent,
        about=about,
        trained=snakemake.params.trained,
        claims=read_claims(Path(snakemake.input.claims))["claims"],
        pictures=[
            *(read_examples(Path(path)) for path in snakemake.input.examples),
            *(read_features_sheet(Path(path)) for path in snakemake.input.features),
        ],
    )
