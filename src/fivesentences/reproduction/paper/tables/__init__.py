"""The tables of the studies, one file per kind, and the forms in which they are written."""
