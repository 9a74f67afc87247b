"""The figures of the studies, one file per kind."""
