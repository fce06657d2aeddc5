"""`python -m heterophily` is the command `heterophily`."""

from heterophily.cli import main

main()
