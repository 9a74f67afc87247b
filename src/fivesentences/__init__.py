"""Regenerates the tables and figures of four papers on image-text matching."""
