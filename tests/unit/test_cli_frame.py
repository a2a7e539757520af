"""The command-line frame: exit codes, error printing, escaping, help of every command."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from kerncap.bundle.documents import validate
from kerncap.cli import main as cli
from kerncap.cli import output
from kerncap.cli.output import set_verbosity
from kerncap.errors import BundleError, KerncapError, ReplayError, UsageError, error_from_code, typed

_ROOT = Path(__file__).resolve().parents[2]


def test_every_command_has_json_verbose_and_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {"image": ["image build", "image list"], "cache": ["cache ls", "cache prune", "cache path"]}
    for name in [line for command in cli.COMMANDS for line in groups.get(command, [command])]:
        assert cli.run([*name.split(), "--help"]) == 0
        text = capsys.readouterr().out
        assert "Example" in text, name
        assert f"$ kerncap {name}" in text, name
        assert "--json" in text, name
        assert "--verbose" in text, name


CONTRACT = {
    "extract": "KERNEL CMD --output -o --dispatch --source-dir --compile-db --device --timeout",
    "pack": "DIR --output -o --base",
    "unpack": "BUNDLE DIR",
    "push": "BUNDLE REF --yes --plain-http",
    "pull": "BUNDLE --output -o --plain-http",
    "inspect": "BUNDLE --plain-http",
    "verify": "BUNDLE --deep --plain-http",
    "replay": "BUNDLE --hsaco --iterations --device --timeout --launcher",
    "validate": "BUNDLE --hsaco --atol --rtol --iterations --device --timeout",
    "recompile": "BUNDLE --output -o --trust --image --timeout --memory",
    "run": "BUNDLE --image --device --hsaco --recompile --atol --rtol --iterations --timeout --memory --plain-http",
    "doctor": "BUNDLE --device --plain-http",
}


def test_every_command_has_what_was_promised_and_explains_it() -> None:
    """Arguments by the name that the help shows, options by their words; each with a sentence."""
    commands: dict[str, Any] = typer.main.get_command(cli.build_app()).commands  # type: ignore[attr-defined]
    assert list(commands) == list(cli.COMMANDS)
    groups = ("cache", "image")
    everything = [*commands.items(), *(item for group in groups for item in commands[group].commands.items())]
    for name, command in everything:
        if name in groups:
            continue
        assert command.short_help, name
        assert len(command.short_help) <= 60, name
        named = {word for param in command.params for word in (*param.opts, param.metavar or "")}
        assert named >= set(CONTRACT.get(name, "").split()) | {"--json", "--verbose", "-v"}, name
        for param in command.params:
            assert param.help or "--help" in param.opts, f"{name} {param.name}"
            assert param.help is None or param.help.endswith("."), f"{name} {param.name}"


def test_usage_error_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["no-such-command"]) == 2
    assert "no-such-command" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["pack"], ["run", "oci:x", "--frobnicate"], ["no-such-command"]])
def test_usage_error_is_a_document_with_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*words, "--json"]) == 2
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert (document["schema"], document["code"]) == ("kerncap.error/1", "usage.arguments")
    assert document["exit_code"] == 2
    assert document["message"]
    assert document["hint"].startswith("kerncap")
    assert cli.run(words) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "words", ["launches /dev/zero", "extract k -o X --device vgpu:gfx942 --tritonparse /dev/zero -- X"]
)
def test_a_named_device_is_no_file_and_no_bug(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([words.split()[0], "--json", *words.split()[1:]]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["code"], document["message"]) == ("usage.path", "/dev/zero: not a regular file")


def test_what_the_system_refuses_is_the_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = PermissionError(13, "Permission denied", "/a b/blobs")
    monkeypatch.setattr(cli, "build_app", lambda only=None: _app_that_raises(error))
    assert cli.run(["go", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["code"], document["hint"]) == ("host.permission", "ls -ld '/a b'")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_full_stdout_is_the_machine(options: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        argv = [sys.executable, "-m", "kerncap", "doctor", *options]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, cwd=_ROOT)
    assert done.returncode == 3, done.stderr
    assert "host.disk-full" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_is_a_document_with_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cli, "build_app", lambda only=None: _app_that_raises(KeyboardInterrupt()))
    assert cli.run(["go", "--json"]) == 130
    document = json.loads(capsys.readouterr().out)
    assert (document["code"], document["exit_code"]) == ("signal.interrupt", 130)


SWALLOWING = """
import sys, time
print("importing", file=sys.stderr, flush=True)
try:
    time.sleep(60)
except BaseException:
    pass
"""


@pytest.mark.parametrize("module", ["typer", "logging"])
@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_interrupt_during_the_imports_is_a_document_with_json(
    tmp_path: Path, number: signal.Signals, exit_code: int, module: str
) -> None:
    """Even when the module that is being imported swallows exceptions; `logging` is among the very first."""
    (tmp_path / f"{module}.py").write_text(SWALLOWING)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{_ROOT}"}
    argv = [sys.executable, "-m", "kerncap", "doctor", "--json"]
    process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "importing\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == exit_code, err
    document = json.loads(out)
    validate(document, "printed", what="interrupt")
    assert document["code"] == {130: "signal.interrupt", 143: "signal.terminate", 129: "signal.hangup"}[exit_code]
    assert document["exit_code"] == exit_code
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["verify", "a b.tar"], "kerncap verify 'a b.tar' --deep"),
        (["verify", "--deep", "a.tar"], "kerncap verify BUNDLE --deep"),
        (["pack", "dir"], "kerncap verify BUNDLE --deep"),
        (["extract", "--help-me"], "kerncap extract --help"),
    ],
)
def test_a_general_hint_names_what_was_typed(words: list[str], hint: str) -> None:
    general = UsageError.general_hint if words[0] == "extract" else BundleError.general_hint
    assert cli._with_typed_words(general, "what happened", words).split("  #")[0] == hint


def test_a_hangup_is_ignored_where_the_caller_ignores_it(tmp_path: Path) -> None:
    """As nohup does."""
    (tmp_path / "typer.py").write_text("import os\nos.kill(os.getpid(), 1)\nraise ValueError('here')\n")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{_ROOT}"}
    argv = ["nohup", sys.executable, "-m", "kerncap", "doctor"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert "ValueError: here" in done.stderr
    assert done.returncode == 1


def test_help_imports_nothing_heavy() -> None:
    """What takes long to import is imported by the command that needs it."""
    script = "import sys; from kerncap.cli import main; main.run(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=_ROOT, check=True)
    assert "extract" in done.stdout
    loaded = set(done.stderr.split())
    assert "typer" in loaded
    assert not loaded & {"docker", "oras", "numpy", "requests", "jsonschema", "jinja2", "zstandard", "rich.progress"}


_REPLAYS = (["run", "oci:nowhere"], ["replay", "nowhere"], ["validate", "nowhere"])
_RECOMPILE = ["recompile", "nowhere", "-o", "x.hsaco"]
_EXTRACT = ["extract", "kernel", "--device", "vgpu:gfx942", "-o", "x.kcap"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        *((c, ["--timeout", s]) for c in (*_REPLAYS, _RECOMPILE, _EXTRACT) for s in ("0", "-1", "nan", "inf", "1e300")),
        *((c, ["--iterations", n]) for c in _REPLAYS for n in ("0", "-1", "1000001")),
        *((c, [o, n]) for c in (_REPLAYS[0], _REPLAYS[2]) for o in ("--atol", "--rtol") for n in ("nan", "inf", "-1")),
        *((c, ["--memory", n]) for c in (_REPLAYS[0], _RECOMPILE) for n in ("-1", "0")),
        *((_EXTRACT, [o, n]) for o in ("--dispatch", "--self-check") for n in ("-1", "99999999999999999999")),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    command: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rest = ["--", "true"] if command is _EXTRACT else []
    assert cli.run([*command, *words, "--json", *rest]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "usage.number"


def _app_that_raises(error: BaseException) -> typer.Typer:
    app = typer.Typer()
    app.callback()(lambda: None)

    def command(as_json: bool = typer.Option(False, "--json")) -> None:
        raise error

    app.command("go")(command)
    return app


def test_error_has_code_hint_and_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    error = BundleError("bad \x1b[2J blob", code="bundle.digest-mismatch", hint="kerncap verify x")
    monkeypatch.setattr(cli, "build_app", lambda only=None: _app_that_raises(error))
    assert cli.run(["go", "--json"]) == 4
    captured = capsys.readouterr()
    assert captured.err == "error: bad \\x1b[2J blob [bundle.digest-mismatch]\nhint: kerncap verify x\n"
    assert json.loads(captured.out)["code"] == "bundle.digest-mismatch"
    assert cli.run(["go"]) == 4
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("error", "code"), [(ZeroDivisionError(), 70), (KeyboardInterrupt(), 130)])
def test_other_exceptions(monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int) -> None:
    monkeypatch.setattr(cli, "build_app", lambda only=None: _app_that_raises(error))
    assert cli.run(["go"]) == code


def test_escape_spells_out_what_could_deceive_a_terminal() -> None:
    assert output.escape("a\x1b]0;t\x07\u202eb\n") == "a\\x1b]0;t\\x07\\u202eb\\n"
    assert output.escape("Grüße λ") == "Grüße λ"
    assert len(output.escape("x" * 10**6)) < 5000
    assert output.table([["a\tb", 1]]) == "a\\tb  1"


def test_native_codes_map_to_classes() -> None:
    assert isinstance(error_from_code("vgpu.page-fault", "m"), ReplayError)
    assert error_from_code("bundle.x", "m").exit_code == 4
    assert type(error_from_code("odd", "m")) is KerncapError


def test_hints_can_be_typed_whatever_a_path_is() -> None:
    assert typed("ls", "-ld", Path("/a b/$(reboot)")) == "ls -ld '/a b/$(reboot)'"


AT_THE_END = """
import os, signal, sys
from kerncap.cli import main as cli
kill = lambda: os.kill(os.getpid(), signal.SIGINT)
class Out:
    def flush(self):
        if sys.argv[1] == "before":
            kill()
    def fileno(self):
        return 1
cli.run = lambda args: 4
sys.stdout = Out()
sys.exit = lambda code: kill()
cli.main([])
"""


@pytest.mark.parametrize(("when", "exit_code"), [("before", 130), ("after", 4)])
def test_a_signal_when_the_command_is_over(when: str, exit_code: int) -> None:
    """With the command's own code once all is said, and never a traceback."""
    done = subprocess.run([sys.executable, "-c", AT_THE_END, when], cwd=_ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (exit_code, "")


def test_what_is_said_goes_where_stderr_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to where it was when the first command of this process began."""
    set_verbosity(0)
    now = io.StringIO()
    monkeypatch.setattr(sys, "stderr", now)
    set_verbosity(0)
    logging.getLogger("kerncap.bundle").warning("look out")
    assert now.getvalue() == "kerncap: look out\n"
