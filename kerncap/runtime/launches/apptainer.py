"""One line for apptainer, and an sbatch script around it for Slurm.

In: a Launch. Out: text for bash. Source: apptainer-exec(1), sbatch(1). Apptainer runs as the user who types it, without
setuid where it can, and has its own words for barriers; the network of one that pulls is given up by the entry point,
as everywhere.
"""

from __future__ import annotations

from kerncap.errors import UsageError, typed
from kerncap.runtime.launches.launch import ENTRYPOINT, MEMORY_BYTES, Launch

# apptainer's own /tmp is a tmpfs of 64 MiB: this folder is there instead, and goes with the shell.
_WORK = "work=$(mktemp -d) || exit 3; trap 'rm -rf -- \"$work\"' EXIT; ulimit -c 0"
# Slurm says which GPUs are the job's. `--containall` takes variables away.
_VISIBLE = '${ROCR_VISIBLE_DEVICES:+--env "ROCR_VISIBLE_DEVICES=$ROCR_VISIBLE_DEVICES"}'


def apptainer_line(launch: Launch) -> str:
    """One line, in a subshell so that its folder goes with it; its exit code is the verdict's."""
    return f"({_WORK}; {_exec(launch)})"


def slurm_script(launch: Launch) -> str:
    """For `sbatch --wait`: the exit code of the job is the verdict's."""
    minutes = -(-launch.whole_seconds // 60)
    mebibytes = (launch.memory_bytes or MEMORY_BYTES) >> 20
    directives = [
        "--job-name=kerncap",
        "--nodes=1",
        "--ntasks=1",
        *(["--gres=gpu:1"] if launch.gpu is not None else []),
        f"--mem={mebibytes}M",
        f"--time={minutes}",
        "--no-requeue",
    ]
    lines = ["#!/bin/bash", *(f"#SBATCH {one}" for one in directives), *_WORK.split("; ")]
    return "\n".join([*lines, _exec(launch, visible=launch.gpu is not None)]) + "\n"


def _exec(launch: Launch, *, visible: bool = False) -> str:
    words = ["apptainer", "exec", "--containall", "--no-home", "--no-privs"]
    words += [] if launch.pulls else ["--net", "--network", "none"]
    words += ["--rocm"] if launch.gpu is not None else []
    for path, target in launch.mounts:
        if any(char in str(path) for char in ',:"'):
            text = f"apptainer takes no path with a comma, a colon or a quotation mark in it: {path}"
            raise UsageError(text, code="usage.not-expressible", hint=typed("mv", path, "NAME"))
        words += ["--bind", f"{path}:{target}:ro"]
    # Nothing of the home folder is there to keep a cache in.
    words += ["--env", "KERNCAP_CACHE_LIMIT=0"]
    parts = [typed(*words), '--workdir "$work"', *([_VISIBLE] if visible else [])]
    return " ".join([*parts, typed(f"docker://{launch.image}", *ENTRYPOINT, *launch.words)])
