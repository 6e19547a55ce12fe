"""`python -m epireader`, which is also what torchrun starts."""

from epireader.cli.main import main

main()
