"""A stranger's source is compiled in the sandbox: it finds nothing of this host, writes nothing to it, and ends."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from synthetic import make_reproducer

from kerncap.bundle.location import LayoutLocation, ReproducerLocation
from kerncap.bundle.seal import seal
from kerncap.source.overlay import overlay

NAMESPACE = os.environ.get("KERNCAP_IMAGE_NAMESPACE", "kerncap")
ROOT = Path(__file__).resolve().parents[2]
# Without HIP's headers a compile takes a moment.
ARGUMENTS = ["-O1", "-nogpuinc", "-nogpulib"]
KERNEL = """
__attribute__((global)) void scale(float* a, int n) {
  a[n] = 2.0f;
  HOSTILE_STATEMENT
}
"""


@dataclass(frozen=True)
class Answer:
    exit_code: int
    document: dict[str, Any]
    stderr: str
    output: Path


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """Readable for the container's own user."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    return tmp_path


def bundle(folder: Path, *, before: str = "", statement: str = "", arguments: list[str] | None = None) -> Path:
    """A reproducer whose kernel's source has `before` in front of it and `statement` in it."""
    made = make_reproducer(folder / "stranger.kcap")
    source = made / "src" / "root" / "app" / "scale.hip"
    source.write_text(before + "\n" + KERNEL.replace("HOSTILE_STATEMENT", statement))
    (made / "vfs.yaml").write_text(json.dumps(overlay([Path("/app/scale.hip"), Path("/app/scale.h")])))
    document = {
        "schema": "kerncap.compile/1",
        "language": "hip",
        "cwd": "/app",
        "main": "/app/scale.hip",
        "arguments": ARGUMENTS if arguments is None else [*ARGUMENTS, *arguments],
        "target": "gfx942:sramecc+:xnack-",
        "compiler": {"version": "clang version 17.0.6", "resource_dir": "", "device_libs": None},
        "files": [],
    }
    (made / "compile.json").write_text(json.dumps(document))
    return made


def recompile(suite: str, made: Path | str, folder: Path, *options: str) -> Answer:
    output = folder / "made.hsaco"
    argv = [sys.executable, "-m", "kerncap", "recompile", str(made), "-o", str(output), "--json"]
    argv += ["--image", f"{NAMESPACE}/runtime:{suite}", *options]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert "Traceback" not in done.stderr
    assert "$ docker run --rm" in done.stderr
    return Answer(done.returncode, json.loads(done.stdout), done.stderr, output)


def refused(answer: Answer, exit_code: int, code: str) -> Answer:
    assert (answer.exit_code, answer.document["code"]) == (exit_code, code), answer.stderr
    assert not answer.output.exists()
    return answer


def test_harmless_source_compiles(suite: str, open_folder: Path) -> None:
    """Else the refusals below would say nothing."""
    answer = recompile(suite, bundle(open_folder, before='#include "scale.h"'), open_folder)
    assert answer.exit_code == 0, answer.stderr
    assert answer.output.read_bytes()[:4] == b"\x7fELF"


def test_sealed_bundles_are_compiled_likewise(suite: str, open_folder: Path) -> None:
    seal(ReproducerLocation(bundle(open_folder)), LayoutLocation(open_folder / "sealed"))
    answer = recompile(suite, f"oci:{open_folder / 'sealed'}", open_folder)
    assert answer.exit_code == 0, answer.stderr


READS = {
    "include": ('#include "{path}"', ""),
    "has_include": ('#if !__has_include("{path}")\n#error the file was not found\n#endif', ""),
    "incbin": ("", 'asm volatile(".incbin \\"{path}\\"");'),
    "asm include": ("", 'asm volatile(".include \\"{path}\\"");'),
}


@pytest.mark.parametrize("way", READS)
def test_files_of_this_host_are_not_there(suite: str, open_folder: Path, way: str) -> None:
    secret = secrets.token_hex(16)
    canary = open_folder / "canary.h"
    canary.write_text(f"// {secret}\n")
    canary.chmod(0o644)
    before, statement = (text.replace("{path}", str(canary)) for text in READS[way])
    made = bundle(open_folder, before=before, statement=statement)
    answer = refused(recompile(suite, made, open_folder), 8, "compile.failed")
    said = answer.document["message"].lower()
    assert "not found" in said or "could not find" in said or "no such file" in said
    assert secret not in answer.document["message"] + answer.stderr


def test_embed_finds_nothing_of_this_host(suite: str, open_folder: Path) -> None:
    """Compilers that do not know #embed refuse it as well."""
    canary = open_folder / "canary.bin"
    canary.write_bytes(b"secret")
    made = bundle(open_folder, before=f'const unsigned char stolen[] = {{\n#embed "{canary}"\n}};')
    refused(recompile(suite, made, open_folder), 8, "compile.failed")


@pytest.mark.parametrize("path", ["/etc/shadow", "/dev/mem"])
def test_what_is_closed_in_the_container_stays_closed(suite: str, open_folder: Path, path: str) -> None:
    made = bundle(open_folder, statement=f'asm volatile(".incbin \\"{path}\\"");')
    refused(recompile(suite, made, open_folder), 8, "compile.failed")


def test_resolv_conf_is_not_this_hosts(suite: str, open_folder: Path) -> None:
    statement = 'asm volatile(".pushsection .data\\n.incbin \\"/etc/resolv.conf\\"\\n.popsection");'
    made = bundle(open_folder, statement=statement)
    answer = recompile(suite, made, open_folder)
    assert answer.exit_code == 0, answer.stderr
    own = [line for line in Path("/etc/resolv.conf").read_text().splitlines() if line.startswith("nameserver")]
    taken = answer.output.read_bytes()
    assert b"nameserver" in taken
    assert not any(line.encode() in taken for line in own)


def test_text_of_the_images_files_is_escaped(suite: str, open_folder: Path) -> None:
    """The image's own /etc/passwd can be read, which tells nothing; it comes back only as a compiler's message."""
    before = '#include "/etc/passwd"\n#error \x1b]0;owned\x07'
    answer = refused(recompile(suite, bundle(open_folder, before=before), open_folder), 8, "compile.failed")
    assert "\x1b" not in answer.stderr


BOMB = """
template <int D, unsigned long P> struct Bomb {
  static constexpr int value = Bomb<D - 1, 2 * P>::value + Bomb<D - 1, 2 * P + 1>::value;
};
template <unsigned long P> struct Bomb<0, P> { static constexpr int value = 1; };
"""


def test_templates_without_end_meet_the_time_limit(suite: str, open_folder: Path) -> None:
    made = bundle(open_folder, before=BOMB, statement="a[0] = Bomb<40, 1>::value;")
    start = time.monotonic()
    refused(recompile(suite, made, open_folder, "--timeout", "3"), 8, "compile.timeout")
    assert time.monotonic() - start < 150


def test_templates_without_end_meet_the_memory_limit(suite: str, open_folder: Path) -> None:
    made = bundle(open_folder, before=BOMB, statement="a[0] = Bomb<40, 1>::value;")
    answer = recompile(suite, made, open_folder, "--timeout", "200", "--memory", str(200 << 20))
    refused(answer, 8, "compile.failed")
    assert "more memory than it may have" in answer.document["message"]


def test_huge_output_meets_a_limit(suite: str, open_folder: Path) -> None:
    statement = 'asm volatile(".pushsection .data\\n.fill 300000000, 1, 1\\n.popsection");'
    made = bundle(open_folder, statement=statement)
    refused(recompile(suite, made, open_folder), 8, "compile.too-big")


def test_a_compiler_that_crashes_is_an_error_of_the_source(suite: str, open_folder: Path) -> None:
    made = bundle(open_folder, before="#pragma clang __debug llvm_fatal_error")
    refused(recompile(suite, made, open_folder), 8, "compile.failed")


ARGUMENTS_OF_A_STRANGER = (["-fplugin=/tmp/x.so"], ["-Xclang", "-load"], ["@/tmp/args"], ["-o", "/tmp/collected"])


def test_arguments_of_a_stranger_are_the_bundles_fault(suite: str, open_folder: Path) -> None:
    """Every one of the unit test's is refused by the same code; here, that the code comes out of the container."""
    for number, words in enumerate(ARGUMENTS_OF_A_STRANGER):
        folder = open_folder / str(number)
        folder.mkdir()
        made = bundle(folder, arguments=words)
        answer = refused(recompile(suite, made, folder), 4, "bundle.unsupported-argument")
        assert words[0] in answer.document["message"]
        if number == 0:
            sealed = open_folder / "sealed"
            seal(ReproducerLocation(made), LayoutLocation(sealed))
            refused(recompile(suite, f"oci:{sealed}", folder), 4, "bundle.unsupported-argument")
            here = subprocess.run(
                [sys.executable, "-m", "kerncap", "recompile", str(made), "-o", str(folder / "x"), "--trust", "--json"],
                capture_output=True,
                text=True,
                cwd=ROOT,
            )
            assert here.returncode == 4, here.stderr


def test_paths_out_of_the_bundle_are_the_bundles_fault(suite: str, open_folder: Path) -> None:
    made = bundle(open_folder, arguments=["-include", "/etc/passwd"])
    refused(recompile(suite, made, open_folder), 4, "bundle.outside-path")
    document = overlay([Path("/app/scale.hip"), Path("/app/scale.h")])
    for evil in ("/etc/passwd", "src/../../etc/passwd"):
        document["roots"][0]["contents"][0]["external-contents"] = evil
        (made / "vfs.yaml").write_text(json.dumps(document))
        refused(recompile(suite, made, open_folder), 4, "bundle.hostile-overlay")
    header = made / "src" / "root" / "app" / "scale.h"
    (made / "vfs.yaml").write_text(json.dumps(overlay([Path("/app/scale.hip"), Path("/app/scale.h")])))
    header.unlink()
    header.symlink_to("/etc/passwd")
    refused(recompile(suite, made, open_folder), 4, "bundle.outside-path")
