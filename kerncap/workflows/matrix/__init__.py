"""Runs bundles x images x devices, one container a cell, and finds the image in which a verdict changed.

In: what a person named. Out: results of cells (`kerncap.matrix`). Called by the commands matrix and bisect.

plan.py: which cells there are. cells.py: one cell in a container. pool.py: several at a time. elsewhere.py: cells that
others run. bisect.py: binary search in a list of images.
"""

from kerncap.runtime.image_facts import runtime_images
from kerncap.workflows.matrix.bisect import Bisection, Step, bisect, image_range
from kerncap.workflows.matrix.cells import ContainerRunner
from kerncap.workflows.matrix.elsewhere import collect, exported, read_cells
from kerncap.workflows.matrix.plan import Plan, Request, make_plan
from kerncap.workflows.matrix.pool import Event, Listener, default_jobs, judge_with, memory_of_each, run_cells

__all__ = [
    "Bisection",
    "ContainerRunner",
    "Event",
    "Listener",
    "Plan",
    "Request",
    "Step",
    "bisect",
    "collect",
    "default_jobs",
    "exported",
    "image_range",
    "judge_with",
    "make_plan",
    "memory_of_each",
    "read_cells",
    "run_cells",
    "runtime_images",
]
