"""The commands of `fivesentences`, one module each; `cli.py` puts them together."""
