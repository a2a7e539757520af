"""Triton: the shim that records what was compiled and launched, and what is made of its records."""
