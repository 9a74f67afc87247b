"""Typed configuration: scales and the catalogue of downloads, checked before any job starts.

A *scale* (``config/demo.yaml``) says which dataset plays which role, with which features, how long to train and how
many seeds. The *catalogue* (``config/datasets.yaml``) lists every file to download. What a paper's tables and figures
are made of, a *study*, and a *run*, one trained model, are in ``fivesentences.reproduction.plan``.
"""
