"""Kerncap: one GPU kernel dispatch as a bundle that can be held, run and edited."""
