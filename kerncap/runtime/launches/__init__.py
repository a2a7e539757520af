"""The line, or the manifest, that judges a bundle elsewhere: for docker, podman, apptainer, Kubernetes, Slurm.

In: a Launch. Out: text to type or to submit. Called by the workflow print_launch. Nothing is started. Names in a Launch
are a stranger's: each writer quotes them for where its text is read.
"""

from kerncap.runtime.launches.apptainer import apptainer_line, slurm_script
from kerncap.runtime.launches.engines import docker_line, podman_line
from kerncap.runtime.launches.kubernetes import kubernetes_manifest
from kerncap.runtime.launches.launch import Gpu, Launch, no_kubernetes_files

__all__ = [
    "Gpu",
    "Launch",
    "apptainer_line",
    "docker_line",
    "kubernetes_manifest",
    "no_kubernetes_files",
    "podman_line",
    "slurm_script",
]
