"""The plan of a scale: its studies resolved to runs, jobs, inputs and outputs; no Snakemake, no torch."""
