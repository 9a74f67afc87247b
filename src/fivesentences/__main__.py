"""`python -m fivesentences`."""

from fivesentences.cli import main

main()
