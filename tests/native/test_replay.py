"""kerncap-replay on captures made by hand: real kernels, the virtual GPU as device, both HSA runtimes.

What a capture by the tool library adds is tested end to end (tests/e2e); here each state is known byte for byte.
"""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from containers import DevContainer
from handmade import HandmadeCapture, HandmadeRegion, run

TARGET = "gfx942"
ISA = "amdgcn-amd-amdhsa--gfx942"
A, B, C = (
    0x7D0000000000,
    0x7D0000100000,
    0x7D0000103000,
)  # sorted; the last two touch: 3000 floats fill three pages but for 288 bytes
VARIABLE = 0x7C0000000000  # where the application's loader had it
TABLE = 0x7D0000110010
N = 3000


@dataclass(frozen=True)
class Replayed:
    """How kerncap-replay ended."""

    exit_code: int
    result: dict[str, Any]
    stderr: str

    def __getitem__(self, key: str) -> Any:
        return self.result["runs"][0][key]


class Bench:
    """One container with the kernels compiled, and one way to replay."""

    def __init__(self, container: DevContainer) -> None:
        self.container = container
        self.hsacos: dict[str, Path] = {}
        self.base = Path(tempfile.mkdtemp(prefix="replay-", dir=container.work))  # each module has a bench of its own
        self.base.chmod(0o755)
        self.count = 0

    def hsaco(self, *flags: str, target: str = TARGET) -> Path:
        key = " ".join([target, *flags])
        if key not in self.hsacos:
            out = self.base / f"kernels-{len(self.hsacos)}.hsaco"
            source = self.container.root / "tests" / "native" / "replay_kernels.hip"
            command = [
                "hipcc",
                f"--offload-arch={target}",
                "--cuda-device-only",
                "--no-gpu-bundle-output",
                "-O2",
                *flags,
            ]
            self.container.run([*command, str(source), "-o", str(out)], check=True)
            self.hsacos[key] = out
        return self.hsacos[key]

    def folder(self) -> Path:
        self.count += 1
        path = self.base / f"replay-{self.count}"
        path.mkdir()
        return path

    def capture(
        self, kernel: str, arguments: bytes, regions: Sequence[HandmadeRegion], **other: Any
    ) -> HandmadeCapture:
        capture = HandmadeCapture(
            folder=self.folder(),
            kernel=kernel,
            hsaco=self.hsaco().read_bytes(),
            isa=ISA,
            grid=(3072, 1, 1),
            workgroup=(256, 1, 1),
            arguments=arguments,
            regions=list(regions),
        )
        for key, value in other.items():
            setattr(capture, key, value)
        capture.write()
        return capture

    def replay(self, request: dict[str, Any], target: str = TARGET, timeout_s: float = 600) -> Replayed:
        folder = self.folder()
        (folder / "request.json").write_text(json.dumps(request))
        done = self.container.run(
            [self.container.native_dir / "kerncap-replay", folder / "request.json", folder / "result.json"],
            env={"LD_PRELOAD": str(self.container.native_dir / "libkerncap-vgpu.so"), "KERNCAP_VGPU": target},
            timeout_s=timeout_s,
        )
        path = folder / "result.json"
        result = json.loads(path.read_text()) if path.exists() else {}
        return Replayed(done.returncode, result, done.stderr)


@pytest.fixture(scope="module")
def bench(dev_container: DevContainer) -> Bench:
    return Bench(dev_container)


def floats(count: int, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(seed).integers(-1000, 1000, count).astype(np.float32)


def vector_add(bench: Bench, **other: Any) -> HandmadeCapture:
    a, b, c = floats(N, 1), floats(N, 2), floats(N, 3)
    regions = [
        HandmadeRegion(A, a.tobytes(), a.tobytes()),
        HandmadeRegion(B, b.tobytes(), b.tobytes()),
        HandmadeRegion(C, c.tobytes(), (a + b).tobytes(), segment="host"),
    ]
    return bench.capture("add", struct.pack("<QQQi", A, B, C, N), **({"regions": regions} | other))


@pytest.fixture(scope="module")
def added(bench: Bench) -> HandmadeCapture:
    return vector_add(bench)


def test_captured_code_object_reproduces_the_post_state(bench: Bench, added: HandmadeCapture) -> None:
    replayed = bench.replay(added.request([run()]))
    assert replayed.exit_code == 0, replayed.stderr
    assert replayed.result["status"] == "ok"
    assert replayed.result["device"]["agent"] == TARGET
    assert replayed["mismatch_bytes"] == 0
    assert replayed["bytes_compared"] == 3 * 4 * N + 4096
    before, after = floats(N, 3), floats(N, 1) + floats(N, 2)
    assert replayed["changed_bytes"] == int(np.sum(before.view(np.uint8) != after.view(np.uint8)))
    assert replayed["kernel_object_va"] > 0
    assert len(replayed["timing_ns"]) == 1


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_other_targets(bench: Bench, target: str) -> None:
    hsaco = bench.hsaco(target=target).read_bytes()
    capture = vector_add(bench, hsaco=hsaco, isa=f"amdgcn-amd-amdhsa--{target}")
    replayed = bench.replay(capture.request([run(iterations=2)]), target=target)
    assert (replayed.exit_code, replayed["mismatch_bytes"]) == (0, 0), replayed.stderr
    assert replayed.result["device"]["agent"] == target


def test_kernarg_outside_of_captured_memory(bench: Bench) -> None:
    replayed = bench.replay(vector_add(bench, kernarg_captured=False).request([run()]))
    assert (replayed.exit_code, replayed["mismatch_bytes"]) == (0, 0), replayed.stderr


@pytest.mark.parametrize("variant", [1, 2])
def test_wrong_variants_mismatch(bench: Bench, added: HandmadeCapture, variant: int) -> None:
    replayed = bench.replay(added.request([run(hsaco=str(bench.hsaco(f"-DVARIANT={variant}")))], max_mismatches=3))
    assert replayed.exit_code == 0, replayed.stderr
    assert replayed["mismatch_bytes"] > 0
    a, b, c = floats(N, 1), floats(N, 2), floats(N, 3)
    wrong = c if variant == 1 else a + np.float32(1.5) * b
    first = int(np.argmax(wrong != a + b))
    assert len(replayed["mismatches"]) == 3
    assert replayed["mismatches"][0] == {
        "region": 2,
        "region_va": C,
        "offset": 4 * first,
        "length": 4,
        "expected": np.float32(a[first] + b[first]).tobytes().hex(),
        "actual": np.float32(wrong[first]).tobytes().hex(),
    }


def test_mismatch_dump_holds_every_mismatch(bench: Bench, added: HandmadeCapture) -> None:
    dump = bench.folder()
    runs = [run(hsaco=str(bench.hsaco("-DVARIANT=2")), mismatch_dump=str(dump)), run(mismatch_dump=str(dump / "none"))]
    replayed = bench.replay(added.request(runs))
    assert replayed.exit_code == 0, replayed.stderr
    ranges = json.loads((dump / "mismatch.json").read_text())["ranges"]
    expected, actual = (dump / "expected.bin").read_bytes(), (dump / "actual.bin").read_bytes()
    after = bytearray(added.regions[2].post)
    assert sum(length for _, _, length, _ in ranges) == len(expected) == len(actual)
    for region, offset, length, at in ranges:
        assert (region, offset % 8) == (2, 0)
        assert after[offset : offset + length] == expected[at : at + length]
        after[offset : offset + length] = actual[at : at + length]
    assert bytes(after) == (floats(N, 1) + np.float32(1.5) * floats(N, 2)).tobytes()
    assert json.loads((dump / "none" / "mismatch.json").read_text())["ranges"] == []
    assert replayed.result["runs"][1]["mismatch_bytes"] == 0


def test_recompiled_variant_is_bit_exact(bench: Bench, added: HandmadeCapture) -> None:
    replayed = bench.replay(added.request([run(hsaco=str(bench.hsaco("-DVARIANT=0", "-O1")))]))
    assert (replayed.exit_code, replayed["mismatch_bytes"]) == (0, 0), replayed.stderr


def test_no_op_is_found_by_poison_when_nothing_changed(bench: Bench) -> None:
    """A late iteration: the kernel stores what is there already, so only the poisoned run tells a no-op."""
    a, b = floats(N, 1), floats(N, 2)
    sums = (a + b).tobytes()
    capture = vector_add(
        bench,
        regions=[
            HandmadeRegion(A, a.tobytes(), a.tobytes()),
            HandmadeRegion(B, b.tobytes(), b.tobytes()),
            HandmadeRegion(C, sums, sums),
        ],
    )
    poisoned = {"kind": "poisoned", "ranges": [[2, 0, 4 * N]]}
    no_op = str(bench.hsaco("-DVARIANT=1"))
    replayed = bench.replay(
        capture.request(
            [
                run(hsaco=no_op),
                run(hsaco=no_op, initial=poisoned),
                run(initial=poisoned),
                run(),
                run(dispatch=False, initial=poisoned),
            ]
        )
    )
    assert replayed.exit_code == 0, replayed.stderr
    plain, poisoned_no_op, poisoned_captured, again, nothing = replayed.result["runs"]
    assert (plain["changed_bytes"], plain["mismatch_bytes"]) == (0, 0)
    assert poisoned_no_op["mismatch_bytes"] == 4 * N
    assert (poisoned_captured["mismatch_bytes"], poisoned_captured["changed_bytes"]) == (0, 4 * N)
    assert (again["mismatch_bytes"], again["changed_bytes"]) == (0, 0)
    assert (nothing["mismatch_bytes"], nothing["changed_bytes"], nothing["timing_ns"]) == (4 * N, 0, [])


def in_place(bench: Bench) -> HandmadeCapture:
    x = floats(N, 4)
    return bench.capture("scale", struct.pack("<Qi", A, N), [HandmadeRegion(A, x.tobytes(), (2 * x).tobytes())])


def test_iterations_each_start_from_the_initial_state(bench: Bench) -> None:
    replayed = bench.replay(in_place(bench).request([run(iterations=5, warmup=2)]))
    assert replayed.exit_code == 0, replayed.stderr
    assert replayed["mismatch_bytes"] == 0
    assert replayed["iterations_agree"] is True
    assert replayed["noise"] == []
    assert len(replayed["timing_ns"]) == 5


def test_iterations_that_disagree_are_noise(bench: Bench) -> None:
    before = bytes(16 * 64)
    capture = bench.capture(
        "stamp", struct.pack("<Q", A), [HandmadeRegion(A, before, before)], grid=(64, 1, 1), workgroup=(64, 1, 1)
    )
    replayed = bench.replay(capture.request([run(iterations=4)]))
    assert replayed.exit_code == 0, replayed.stderr
    assert replayed["iterations_agree"] is False
    assert replayed["mismatch_bytes"] > 0
    assert replayed["noise"]
    for region, offset, length in replayed["noise"]:
        assert region == 0
        assert offset % 16 >= 8
        assert length <= 8


def test_perturbed_runs_agree_or_differ(bench: Bench, added: HandmadeCapture) -> None:
    initial = {"kind": "perturbed", "seed": 7, "ranges": [[0, 0, 4 * N, "f32"]]}
    dump = bench.base / f"dump-{bench.count}"
    expect = {"kind": "dump", "path": str(dump)}
    runs = [
        run(initial=initial, expect=None, dump=str(dump)),
        run(initial=initial, expect=expect, hsaco=str(bench.hsaco("-DVARIANT=0", "-O1"))),
        run(initial=initial, expect=expect, hsaco=str(bench.hsaco("-DVARIANT=2"))),
        run(initial=initial, expect=expect, hsaco=str(bench.hsaco("-DVARIANT=1"))),
        run(initial=initial),
    ]
    replayed = bench.replay(added.request(runs))
    assert replayed.exit_code == 0, replayed.stderr
    mismatches = [r["mismatch_bytes"] for r in replayed.result["runs"]]
    assert mismatches[:2] == [0, 0]
    assert mismatches[2] > 0
    assert mismatches[3] > 0
    assert mismatches[4] > 0  # the captured post-state belongs to the captured inputs
    changed = json.loads((dump / "changed.json").read_text())
    data = (dump / "changed.bin").read_bytes()
    assert sum(length for _, _, length, _ in changed["ranges"]) == len(data)
    assert {region for region, *_ in changed["ranges"]} == {2}
    refused = bench.replay(added.request([run(initial=initial | {"seed": 8}, expect=expect)]))
    assert (refused.exit_code, refused.result["error"]["code"]) == (2, "usage.bad-dump")


def weighed(bench: Bench) -> HandmadeCapture:
    x, y = floats(N, 5), floats(N, 6)
    weights = np.array([1, 2, 3, 4], np.float32)
    after = np.tile(weights, N // 4) * x
    return bench.capture(
        "weigh",
        struct.pack("<QQi", A, C, N),
        [
            HandmadeRegion(A, x.tobytes(), x.tobytes()),
            HandmadeRegion(C, y.tobytes(), after.tobytes()),
            HandmadeRegion(VARIABLE, weights.tobytes(), weights.tobytes(), kind="variable", symbol="weights"),
        ],
    )


def test_module_variables_are_restored_unless_withheld(bench: Bench) -> None:
    capture = weighed(bench)
    variant = run(hsaco=str(bench.hsaco("-DVARIANT=0", "-O1")))
    replayed = bench.replay(capture.request([run(), variant]))
    assert replayed.exit_code == 0, replayed.stderr
    assert [r["mismatch_bytes"] for r in replayed.result["runs"]] == [0, 0]
    assert [[region for region, va in r["variables"] if va > 0] for r in replayed.result["runs"]] == [[0], [0]]
    withheld = bench.replay(capture.request([run()], withhold_variables=True))
    assert withheld.exit_code == 0
    assert withheld["mismatch_bytes"] > 0


def test_missing_variable_is_named(bench: Bench) -> None:
    capture = weighed(bench)
    capture.regions[-1].symbol = "wrong_name"
    capture.write()
    replayed = bench.replay(capture.request([run()]))
    assert (replayed.exit_code, replayed.result["error"]["code"]) == (6, "replay.missing-symbol")
    assert "wrong_name" in replayed.result["error"]["message"]


def test_pointers_in_device_memory(bench: Bench) -> None:
    rows = [floats(N, 7), floats(N, 8)]
    table = struct.pack("<QQ", A, B)
    replayed = bench.replay(
        bench.capture(
            "through_pointers",
            struct.pack("<Qi", TABLE, N),
            [
                HandmadeRegion(A, rows[0].tobytes(), (rows[0] + 1).tobytes()),
                HandmadeRegion(B - 0x100, bytes(0x100), bytes(0x100)),
                HandmadeRegion(B, rows[1].tobytes(), (rows[1] + 1).tobytes()),
                HandmadeRegion(TABLE, table, table),
            ],
            grid=(3072, 2, 1),
            dims=2,
        ).request([run()])
    )
    assert (replayed.exit_code, replayed["mismatch_bytes"]) == (0, 0), replayed.stderr


def test_time_out(bench: Bench) -> None:
    capture = bench.capture(
        "spin",
        struct.pack("<Q", A),
        [HandmadeRegion(A, bytes(4096), bytes(4096))],
        grid=(64, 1, 1),
        workgroup=(64, 1, 1),
    )
    replayed = bench.replay(capture.request([run()], timeout_s=2), timeout_s=300)
    assert replayed.exit_code == 6
    assert replayed.result["status"] == "timeout"
    error = replayed.result["error"]
    assert (error["code"], error["hint"]) == ("replay.timeout", "--timeout 8")
    assert error["message"] == "the kernel did not end within 2 s"


@pytest.mark.parametrize("size", [(1 << 18) + 4, (1 << 32) - 1])
def test_more_scratch_than_any_device_has(bench: Bench, added: HandmadeCapture, size: int) -> None:
    request = added.request([run()])
    path = Path(request["capture"])
    whole = path.read_text()
    document = json.loads(whole)
    document["dispatch"]["private_segment_bytes"] = size
    try:
        path.write_text(json.dumps(document))
        replayed = bench.replay(request)
    finally:
        path.write_text(whole)
    assert (replayed.exit_code, replayed.result["error"]["code"]) == (3, "host.launch-limits")
    assert f"a workitem needs {size} bytes of scratch" in replayed.result["error"]["message"]


def test_memory_fault(bench: Bench) -> None:
    capture = bench.capture("stray", struct.pack("<Q", 0x123456789000), [], grid=(64, 1, 1), workgroup=(64, 1, 1))
    replayed = bench.replay(capture.request([run()], timeout_s=120))
    assert replayed.exit_code == 6, replayed.stderr
    assert replayed.result["status"] == "fault"
    assert replayed["fault"] == {"va": 0x123456789000, "kind": "memory"}


def test_wrong_target(bench: Bench, added: HandmadeCapture) -> None:
    replayed = bench.replay(added.request([run()]), target="gfx90a")
    assert replayed.exit_code == 3
    assert replayed.result["error"]["code"] == "host.wrong-target"
    variant = bench.replay(added.request([run(hsaco=str(bench.hsaco(target="gfx90a")))]))
    assert (variant.exit_code, variant.result["error"]["code"]) == (3, "host.wrong-target")


def test_no_such_agent(bench: Bench, added: HandmadeCapture) -> None:
    replayed = bench.replay(added.request([run()], agent=3))
    assert (replayed.exit_code, replayed.result["error"]["code"]) == (3, "host.no-agent")


def test_variant_with_other_arguments_is_refused(bench: Bench) -> None:
    x = floats(N, 1)
    capture = bench.capture(
        "copy",
        struct.pack("<QQ", A, C),
        [HandmadeRegion(A, x.tobytes(), x.tobytes()), HandmadeRegion(C, bytes(4 * N), x.tobytes())],
    )
    replayed = bench.replay(capture.request([run(hsaco=str(bench.hsaco("-DOTHER_ARGUMENTS")))]))
    assert (replayed.exit_code, replayed.result["error"]["code"]) == (6, "replay.variant-arguments")


CHUNK_BYTES = 64 << 20


def add_zeros(capture: HandmadeCapture, va: int, end: int) -> None:
    """A region above all others."""
    index = json.loads((capture.folder / "index.json").read_text())
    sizes = [min(CHUNK_BYTES, end - at) for at in range(va, end, CHUNK_BYTES)]
    fills = [{"l": size, "k": "fill", "v": 0, "h": "0" * 64} for size in sizes]
    region = index["regions"][0] | {"va": va, "size": end - va, "pre": fills, "post": []}
    index["regions"].append(region)
    (capture.folder / "index.json").write_text(json.dumps(index))


def test_starts_again_until_the_addresses_are_free(bench: Bench) -> None:
    """A quarter of all random layouts has libraries in these 256 GiB: no run may end for that reason."""
    capture = vector_add(bench)
    add_zeros(capture, 0x7F8000000000, 0x7FC000000000)
    for _ in range(6):
        replayed = bench.replay(capture.request([run()]))
        # More than the device has: found only after all addresses were reserved.
        assert (replayed.exit_code, replayed.result["error"]["code"]) == (3, "host.device-memory"), replayed.stderr


def test_taken_address_is_named(bench: Bench) -> None:
    """Memory where every process has its stack: starting again does not help, and the message says what is there."""
    capture = vector_add(bench)
    # All of the 16 GiB in which Linux places stacks: of a part, one start in so many would find its stack elsewhere.
    add_zeros(capture, 0x7FFC00000000, 0x7FFFFFFFF000)
    replayed = bench.replay(capture.request([run()]))
    assert (replayed.exit_code, replayed.result["error"]["code"]) == (6, "replay.address-taken"), replayed.stderr
    assert "[stack]" in replayed.result["error"]["message"]


@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped"])
def test_damaged_blobs(bench: Bench, damage: str) -> None:
    capture = vector_add(bench)
    blob = json.loads((capture.folder / "index.json").read_text())["blobs"][0]["digest"]
    path = Path(capture.blobs[blob]["path"])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x40
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(bytes(data) if damage == "flipped" else bytes(data[:-10]))
    replayed = bench.replay(capture.request([run()]))
    codes = {"missing": "bundle.missing-blob", "truncated": "bundle.truncated", "flipped": "bundle.corrupt-chunk"}
    assert (replayed.exit_code, replayed.result["error"]["code"]) == (4, codes[damage])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda r: r.update(schema="kerncap.replay-request/2"), "usage.unsupported-version"),
        (lambda r: r.update(runs=[]), "usage.bad-request"),
        (lambda r: r["runs"][0].update(initial={"kind": "poisoned", "ranges": [[0, 0, 1 << 40]]}), "usage.bad-request"),
        (
            lambda r: r["runs"][0].update(initial={"kind": "poisoned", "ranges": [[0, 0, 8], [0, 4, 8]]}),
            "usage.bad-request",
        ),
        (lambda r: r["runs"][0].update(hsaco="/does/not/exist"), "host.io"),
    ],
)
def test_bad_requests(
    bench: Bench, added: HandmadeCapture, change: Callable[[dict[str, Any]], None], code: str
) -> None:
    request = added.request([run()])
    change(request)
    replayed = bench.replay(request)
    assert replayed.result["error"]["code"] == code
    assert replayed.exit_code == (2 if code.startswith("usage") else 3)
