"""What the shell offers at TAB: devices, bundles, suites; and what bash needs beside it.

In: the word that is being typed. Out: words that continue it. Called by typer for the options and arguments that name
these functions, and by `main` when the shell asks (`kerncap --install-completion` makes it do so).
"""

from __future__ import annotations

import contextlib
import glob
import io
import itertools
import os
import sys
from collections.abc import Iterator

VARIABLE = "_KERNCAP_COMPLETE"
_MAX_OFFERS = 2000
_MARKS = ("oci-layout", "reproducer.json", "capture.json")


def devices(incomplete: str) -> list[str]:
    """The virtual GPUs, and the real ones that are here."""
    from kerncap import native

    real = [f"gpu:{gpu.index}" for gpu in native.real_gpus()]
    offers = ["auto", "gpu", *real, *(f"vgpu:{target}" for target in native.VGPU_TARGETS)]
    return [offer for offer in offers if offer.startswith(incomplete)]


def bundles(incomplete: str) -> list[str]:
    """Layouts (with `oci:` in front when that was begun), tar files and reproducers, and the folders beside them.

    Nothing when there is no bundle: then every shell offers files and folders itself.
    """
    scheme = "oci:" if incomplete.startswith("oci:") else ""
    begun = incomplete.removeprefix("oci:")
    hidden = os.path.basename(begun).startswith(".")
    whole: list[str] = []
    folders: list[str] = []
    for path in itertools.islice(glob.iglob(glob.escape(begun) + "*", include_hidden=hidden), _MAX_OFFERS):
        if os.path.isdir(path):
            is_bundle = any(os.path.exists(os.path.join(path, name)) for name in _MARKS)
            (whole if is_bundle else folders).append(path if is_bundle else path + "/")
        elif path.endswith(".tar") and not scheme:
            whole.append(path)
    return [scheme + path for path in sorted(whole + folders)] if whole else []


def gpu_accesses(incomplete: str) -> list[str]:
    from kerncap.runtime.containers.access import WAYS

    return [word for word in WAYS if word.startswith(incomplete)]


def print_forms(incomplete: str) -> list[str]:
    from kerncap.workflows.print_launch import FORMS

    return [word for word in FORMS if word.startswith(incomplete)]


def matches(incomplete: str) -> list[str]:
    """The ways to name a kernel."""
    from kerncap.capture.selection import MATCHES

    return [word for word in MATCHES if word.startswith(incomplete)]


def toolchain_headers(incomplete: str) -> list[str]:
    """What becomes of the tool chain's headers."""
    from kerncap.source.toolchain import MODES

    return [word for word in MODES if word.startswith(incomplete)]


def signers(incomplete: str) -> list[str]:
    """Programs that sign what is in a registry."""
    return [word for word in ("cosign", "notation") if word.startswith(incomplete)]


def algorithms(incomplete: str) -> list[str]:
    """Of keys."""
    from kerncap.trust.keys import ALGORITHMS

    return [word for word in ALGORITHMS if word.startswith(incomplete)]


def conditions(incomplete: str) -> list[str]:
    """How each kind of `--when` begins."""
    return [word for word in ("arg[", "fault", "inf", "nan", "slower-than=") if word.startswith(incomplete)]


def suites(incomplete: str) -> list[str]:
    """The bases of images.toml."""
    from kerncap.runtime import catalog

    return [name for name in catalog.load().bases if name.startswith(incomplete)] if catalog.find_checkout() else []


def runtime_images(incomplete: str) -> list[str]:
    """Those of images.toml; behind a comma the next one."""
    from kerncap.runtime import catalog

    if catalog.find_checkout() is None:
        return []
    before, comma, begun = incomplete.rpartition(",")
    names = [catalog.image_name("runtime", suite) for suite in catalog.load().bases]
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun) and name not in before.split(",")]


def triton_releases(incomplete: str) -> list[str]:
    """Those of images.toml."""
    from kerncap.runtime import catalog

    if catalog.find_checkout() is None:
        return []
    known = {release for own in catalog.load().triton.values() for release in own.known}
    return sorted(release for release in known if release.startswith(incomplete))


@contextlib.contextmanager
def shell_words() -> Iterator[None]:
    """Bash takes `vgpu:gfx942` and `--device=x` for several words; inside they are one, as every other shell has it.

    What is printed inside is without what stands before the last colon then: bash keeps that, and puts a word after it.
    Source: bash's manual, COMP_WORDBREAKS.
    """
    words, cut = _joined(os.environ.get("COMP_WORDS", "").split("\n"), os.environ.get("COMP_CWORD", ""))
    if os.environ.get(VARIABLE) != "complete_bash" or words is None:
        yield
        return
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(words), str(len(words) - 1)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            yield
        finally:
            lines = [line for line in printed.getvalue().split("\n") if line]
            sys.__stdout__.write("".join(line.removeprefix(cut) + "\n" for line in lines))  # type: ignore[union-attr]


def _joined(words: list[str], at: str) -> tuple[list[str] | None, str]:
    """The words up to the one that is being typed, joined at `:` and `=`; what bash keeps of the last one."""
    if not at.isdigit() or int(at) >= len(words) or not any(set(word) <= {":", "="} and word for word in words):
        return None, ""
    joined: list[str] = []
    glue = False
    for word in words[: int(at) + 1]:
        breaks = bool(word) and set(word) <= {":", "="}
        if (glue or breaks) and len(joined) > 1:
            joined[-1] += word
        else:
            joined.append(word)
        glue = breaks
    value = joined[-1].partition("=")[2] if joined[-1].startswith("-") else joined[-1]
    return joined, value[: value.rfind(":") + 1]
