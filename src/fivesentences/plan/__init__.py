"""What is to be made: a scale and its studies resolved to runs, jobs, inputs and outputs; no Snakemake, no torch."""
