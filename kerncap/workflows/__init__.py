"""What crosses stages: extract, replay and validate, recompile, run."""
