"""`python -m kerncap`: the same as the `kerncap` program."""

from kerncap.cli.start import main

main()
