"""Writes down what Triton compiles and launches: one file of JSON lines a process, in KERNCAP_TRITON_RECORDS.

In: Triton's own classes, when the application imports them. Out: `triton-<pid>.jsonl` (docs/interfaces.md, Triton's
records): kernels by the digest of their code objects, each different launch before it is made, tunings. The tool
library hears which dispatches are trials of the autotuner. Started by sitecustomize.py; runs in the application, from
Python 3.9 on, so it needs nothing but Triton, and whatever fails here is said and does not reach the application.
"""
