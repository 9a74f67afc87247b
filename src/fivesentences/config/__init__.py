"""Typed configuration, checked before anything is read or made.

The *catalogue* (``config/datasets.yaml``) lists every file to download, ``metrics`` every metric. What a *scale* says
(``config/demo.yaml``) is in ``fivesentences.reproduction.config``, a *run*, one trained model, in
``fivesentences.training.spec``.
"""
