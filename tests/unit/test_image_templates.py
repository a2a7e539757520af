"""The Dockerfile templates render for every base of images.toml, and within what the classic builder understands."""

from __future__ import annotations

import re
from typing import Literal

import pytest

from kerncap.errors import HostError, UsageError
from kerncap.runtime import catalog

CATALOG = catalog.load()
ROLES: tuple[Literal["dev", "runtime"], ...] = ("dev", "runtime")


def instructions(dockerfile: str) -> list[str]:
    joined = re.sub(r"\\\n", " ", dockerfile)
    return [line for line in joined.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("name", list(CATALOG.bases))
@pytest.mark.parametrize("role", ROLES)
def test_renders_for_every_base(role: Literal["dev", "runtime"], name: str) -> None:
    base = CATALOG.base(name)
    lines = instructions(CATALOG.render(role, base, "9.9.9"))
    assert lines[0].split()[:2] == ["FROM", base.image]
    words = {line.split()[0] for line in lines}
    assert words <= {"FROM", "RUN", "COPY", "ENV", "LABEL", "WORKDIR", "USER", "ENTRYPOINT", "CMD"}
    for line in lines:
        assert not re.search(r"COPY --chmod|RUN --mount|<<|\{\{|\{%", line), line


@pytest.mark.parametrize("name", ["rocm-6.4", "rocm-7.0"])
def test_rocm_bases_find_rocm_under_its_prefix(name: str) -> None:
    base = CATALOG.base(name)
    assert base.kind == "registry"
    assert base.image.startswith("rocm/dev-ubuntu-24.04:")
    text = CATALOG.render("runtime", base, "1")
    assert "PATH=/opt/rocm/bin:/opt/rocm/llvm/bin:" in text
    assert "ROCM_PATH=/opt/rocm " in text


def test_runtime_image_is_not_root() -> None:
    lines = instructions(CATALOG.render("runtime", CATALOG.base("trixie"), "1"))
    users = [line for line in lines if line.startswith("USER")]
    assert users == ["USER 10001:10001"]
    assert lines.index(users[0]) > max(i for i, line in enumerate(lines) if line.startswith(("RUN", "COPY")))


def test_base_does_not_depend_on_code() -> None:
    """Everything before our own files is the same text whatever the version, so its layers are found again."""
    for role in ROLES:
        old, new = (CATALOG.render(role, CATALOG.base("sid"), version) for version in ("1", "2"))
        assert old.split("COPY native/")[0] == new.split("COPY native/")[0]


def test_unknown_suite_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'warty'.*trixie, sid"):
        CATALOG.base("warty")


def test_namespace_moves_only_what_depends_on_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNCAP_IMAGE_NAMESPACE", "mine")
    assert catalog.image_name("runtime", "sid") == "mine/runtime:sid"
    assert catalog.image_name("toolchain", "sid") == "kerncap/toolchain:sid"


def test_broken_images_toml_is_reported(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "dockerfiles").mkdir()
    (tmp_path / "dockerfiles" / "images.toml").write_text("[default]\n")
    with pytest.raises(HostError) as caught:
        catalog.load(tmp_path)
    assert caught.value.code == "host.bad-images-toml"


@pytest.mark.parametrize("name", list(CATALOG.apps))
def test_real_programs_come_on_top_of_a_tool_chain(name: str) -> None:
    app = CATALOG.app(name)
    assert app.suite in CATALOG.bases
    lines = instructions(CATALOG.render_app(app))
    assert lines[0] == f"FROM kerncap/toolchain:{app.suite}"
    assert {line.split()[0] for line in lines} == {"FROM", "RUN", "LABEL"}
    assert set(app.packages) <= set(lines[1].split())


def test_unknown_real_program_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'doom'.*llama, rocblas, rocprim, rocthrust"):
        CATALOG.app("doom")
