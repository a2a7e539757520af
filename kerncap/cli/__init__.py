"""Command line: one file a command; the only code that prints or exits, and the only user of typer."""
