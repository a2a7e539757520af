"""`python -m kerncap`: the same as the `kerncap` program."""

from kerncap.cli.main import main

main()
