"""llama.cpp's unmodified HIP backend on the virtual GPU: tokens and logits of tiny models against its CPU backend.

The models are written by tiny_llama.py: two layers, random weights. Both backends round activations to 8 bits where
weights are quantised, each to blocks of its own (the CPU's of 256 for K-quants, the GPU's of 32), so logits differ by
their noise. How much noise is right says a third run: the CPU with the same weights as 32-bit floats.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import HERE, Programs
from paper_workloads import Workload, of_app

APP = "llama"
TARGETS = ("gfx90a", "gfx1100")
KINDS = ("F16", "Q8_0", "Q4_0", "Q4_K", "MXFP4")
STEPS = 8
# Largest error of the GPU's log probabilities as a multiple of the CPU backend's own. F16: attention adds up in halves.
# Q4_0: 8 times the sum of activations is subtracted, which was rounded apart from them (vec_dot_q4_0_q8_1).
NOISE = {"F16": 5.0, "Q8_0": 2.0, "Q4_0": 5.0, "Q4_K": 2.0, "MXFP4": 2.0}
# The CPU's error itself, of log probabilities that spread by 4.
CPU_NOISE = {"F16": 0.01, "Q8_0": 0.1, "Q4_0": 0.1, "Q4_K": 0.15, "MXFP4": 0.1}

Answer = tuple[list[int], np.ndarray]


@pytest.fixture(scope="module")
def models(programs: Programs) -> Path:
    programs.container.run(["python3", HERE / "tiny_llama.py", programs.container.work], check=True)
    return programs.container.work


@pytest.fixture(scope="module")
def on_cpu(programs: Programs, models: Path) -> dict[str, Answer]:
    return {name: logits(programs, models, name, None) for kind in KINDS for name in (kind, f"{kind}-exact")}


def logits(programs: Programs, models: Path, model: str, target: str | None) -> Answer:
    env, where = {}, ["--device", "none"]
    if target is not None:
        preload = str(programs.container.native_dir / "libkerncap-vgpu.so")
        env, where = {"KERNCAP_VGPU": target, "KERNCAP_LLAMA_PRELOAD": preload}, ["--device", "ROCm0", "-ngl", "99"]
    argv = ["python3", HERE / "llama_logits.py", models / f"{model}.gguf", str(STEPS), *where]
    done = programs.container.run(argv, env=env, timeout_s=600, check=True)
    answer = json.loads(done.stdout)
    assert "kerncap-vgpu:" not in done.stderr
    return answer["tokens"], np.array(answer["logprobs"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", TARGETS)
def test_logits(programs: Programs, models: Path, on_cpu: dict[str, Answer], kind: str, target: str) -> None:
    tokens, gpu = logits(programs, models, kind, target)
    expected_tokens, cpu = on_cpu[kind]
    _, exact = on_cpu[f"{kind}-exact"]
    assert tokens == expected_tokens
    assert gpu.shape == cpu.shape == exact.shape == (STEPS, 512)
    assert exact.std() > 2, "the model says nothing"
    noise = root_mean_square(cpu - exact)
    assert 0 < noise <= CPU_NOISE[kind]
    assert root_mean_square(gpu - exact) <= NOISE[kind] * noise


def root_mean_square(differences: np.ndarray) -> float:
    return float(np.sqrt(np.mean(differences**2)))


COMPLETION = ["-p", "w7 w19 w3 w200 w41", "-n", "24", "--seed", "7", "--temp", "0.8", "-c", "256", "-no-cnv"]
COMPLETION += ["--fit", "off", "--no-warmup", "--no-perf", "--ignore-eos"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", TARGETS)
def test_fixed_seed_completion(programs: Programs, models: Path, kind: str, target: str) -> None:
    argv = ["llama-completion", "-m", models / f"{kind}.gguf", *COMPLETION]
    cpu = programs.run(None, [*argv, "--device", "none"])
    gpu = programs.run(target, [*argv, "--device", "ROCm0", "-ngl", "99"])
    assert cpu.returncode == gpu.returncode == 0, cpu.stderr + gpu.stderr
    assert len(cpu.stdout.split()) > 20
    assert gpu.stdout == cpu.stdout


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", TARGETS)
def test_bench(programs: Programs, models: Path, kind: str, target: str) -> None:
    argv = ["llama-bench", "-m", models / f"{kind}.gguf", "-p", "32", "-n", "4", "-r", "1", "-ngl", "99", "-o", "json"]
    done = programs.run(target, argv)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kerncap-vgpu:" not in done.stderr
    prompt, generated = json.loads(done.stdout)
    assert (prompt["n_prompt"], generated["n_gen"]) == (32, 4)
    assert prompt["backends"] == "ROCm"
    assert "Virtual" in prompt["gpu_info"]
    assert prompt["avg_ns"] < 180e9, "a prompt of 32 tokens takes minutes"


@pytest.mark.parametrize("workload", of_app(APP), ids=lambda workload: workload.kernel)
@pytest.mark.parametrize("target", TARGETS)
def test_paper_workload(programs: Programs, models: Path, target: str, workload: Workload) -> None:
    """`mul_mat_vec_q`, the case study of Kerncap's paper, and attention."""
    verdict = programs.judge(workload, target)
    assert f"void {workload.kernel}<" in verdict["kernel"]
    if workload.kernel == "mul_mat_vec_q":
        assert verdict["kernel"].startswith("void mul_mat_vec_q<(ggml_type)12")
        # The gate and up matrices in one kernel: a float for each of 512 rows.
        assert 1000 < verdict["changed_bytes"] <= 2048
