"""A Job manifest for Kubernetes.

In: a Launch that pulls. Out: YAML. Source: Kubernetes API, batch/v1 Job; Pod Security Standards, "restricted"; AMD GPU
device plugin (resource `amd.com/gpu`).
"""

from __future__ import annotations

from typing import Any

from kerncap.runtime.launches.launch import MEMORY_BYTES, USER, Launch

_GPU = "amd.com/gpu"
# Of the node's disk, for a bundle and what is made of it: a pod that takes more is evicted.
_TMP_BYTES = 32 << 30
_REQUESTED_BYTES = 2 << 30


def kubernetes_manifest(launch: Launch) -> str:
    """The exit code of the pod's container is the verdict's; a job whose verdict is bad has failed."""
    import yaml

    return str(yaml.safe_dump(_job(launch), sort_keys=False, default_flow_style=False, allow_unicode=False, width=120))


def _job(launch: Launch) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "kerncap-", "labels": {"app.kubernetes.io/name": "kerncap"}},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": launch.whole_seconds,
            "template": {"metadata": {"labels": {"app.kubernetes.io/name": "kerncap"}}, "spec": _pod(launch)},
        },
    }


def _pod(launch: Launch) -> dict[str, Any]:
    security: dict[str, Any] = {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if launch.gpu is not None and launch.gpu.access is not None and launch.gpu.access.groups:
        security["supplementalGroups"] = list(launch.gpu.access.groups)
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": security,
        "containers": [_container(launch)],
        "volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": str(_TMP_BYTES)}}],
    }


def _container(launch: Launch) -> dict[str, Any]:
    memory = str(launch.memory_bytes or MEMORY_BYTES)
    limits = {"memory": memory, "ephemeral-storage": str(_TMP_BYTES)}
    requests = {"cpu": "1", "memory": memory, "ephemeral-storage": str(_REQUESTED_BYTES)}
    if launch.gpu is not None:
        limits[_GPU] = requests[_GPU] = "1"
    return {
        "name": "kerncap",
        "image": launch.image,
        "args": [_literal(word) for word in launch.words],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {"requests": requests, "limits": limits},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }


def _literal(word: str) -> str:
    """`$(NAME)` in an argument would be a variable's value; `$$` is one `$`. Source: Kubernetes API, Container.args."""
    return word.replace("$", "$$")
