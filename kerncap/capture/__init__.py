"""Runs an application under the tool library, reads what it wrote, and seals it."""
