"""`python -m heterophily` is the command `heterophily`."""

from heterophily.commands.main import main

main()
