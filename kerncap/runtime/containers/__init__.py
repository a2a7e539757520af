"""Runs one kerncap command in a container of a runtime image, shut off from everything but the bundle.

In: a Job. Out: an Outcome with what the command printed, its exit code and, when asked for, one file it made; results
come back as a stream on stdout, so nothing of the host is writable inside. Called by the workflows (run, recompile).

job.py: what is to run. line.py: the container that does it, in the words of spec.py. devices.py, readable.py: what it
gets of this host. running.py: its life. cancellation.py: its end when another thread wants it. failures.py: what it
reported. image.py: what it is made from.
"""

from kerncap.runtime.containers.cancellation import Cancellation
from kerncap.runtime.containers.devices import gpu_present
from kerncap.runtime.containers.failures import error_of, raise_for_failure
from kerncap.runtime.containers.image import image_digests
from kerncap.runtime.containers.job import VARIANT_AT, Job, Lasting, Outcome
from kerncap.runtime.containers.line import docker_line, readable_mounts, readable_variant
from kerncap.runtime.containers.running import run

__all__ = [
    "VARIANT_AT",
    "Cancellation",
    "Job",
    "Lasting",
    "Outcome",
    "docker_line",
    "error_of",
    "gpu_present",
    "image_digests",
    "raise_for_failure",
    "readable_mounts",
    "readable_variant",
    "run",
]
