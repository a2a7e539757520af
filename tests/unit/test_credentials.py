"""Where credentials come from, and that each stays with its registry."""

from __future__ import annotations

import base64
import json
import pwd
from pathlib import Path
from typing import Any

import pytest

from kerncap.errors import TransportError
from kerncap.transport.auth import Authorizer, parse_challenge
from kerncap.transport.credentials import Credentials, find_credentials
from kerncap.transport.reference import parse_reference

_AUTH = base64.b64encode(b"user:pass:word").decode()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def _write(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def test_docker_config_and_its_variable(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(home / ".docker/config.json", {"auths": {"a.example": {"auth": _AUTH}}})
    assert find_credentials("a.example") == Credentials("user", "pass:word")
    assert find_credentials("b.example") is None
    assert find_credentials("a.example.evil") is None
    monkeypatch.setenv("DOCKER_CONFIG", str(home / "other"))
    assert find_credentials("a.example") is None


def test_keys_with_a_scheme_and_docker_hub(home: Path) -> None:
    auths = {
        "https://a.example/v2/": {"auth": _AUTH},
        "https://index.docker.io/v1/": {"username": "u", "password": "p"},
    }
    _write(home / ".docker/config.json", {"auths": auths})
    assert find_credentials("a.example") == Credentials("user", "pass:word")
    assert find_credentials("docker.io") == Credentials("u", "p")


def test_podman_and_identity_tokens(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(home / "run/containers/auth.json", {"auths": {"a.example": {"auth": _AUTH, "identitytoken": "refresh"}}})
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "run"))
    assert find_credentials("a.example") == Credentials("user", "", "refresh")


def test_helpers(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = home / "docker-credential-test"
    helper.write_text('#!/bin/sh\nread host\necho "{\\"Username\\": \\"at-$host\\", \\"Secret\\": \\"s\\"}"\n')
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:/usr/bin:/bin")
    _write(home / ".docker/config.json", {"credHelpers": {"a.example": "test"}, "auths": {"c.example": {}}})
    assert find_credentials("a.example") == Credentials("at-a.example", "s")
    assert find_credentials("b.example") is None
    _write(home / ".docker/config.json", {"credsStore": "test"})
    assert find_credentials("b.example") == Credentials("at-b.example", "s")
    for bad in ("gone", "../evil", "test; rm -rf x"):
        _write(home / ".docker/config.json", {"credsStore": bad})
        assert find_credentials("b.example") is None


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"auths": 3}', '{"auths": {"a.example": 3}}', '{"auths":{"a.example":{"auth":"%%"}}}']
)
def test_damaged_files_are_passed_over(home: Path, text: str) -> None:
    (home / ".docker").mkdir()
    (home / ".docker/config.json").write_text(text)
    assert find_credentials("a.example") is None


def test_secrets_do_not_show() -> None:
    assert "hush" not in repr(Credentials("u", "hush", "hush"))


def test_challenges() -> None:
    bearer = parse_challenge('Bearer realm="https://auth.example/token",service="reg",scope="repository:a:pull"')
    assert bearer is not None
    assert (bearer.scheme, bearer.realm, bearer.service) == ("bearer", "https://auth.example/token", "reg")
    basic = parse_challenge('Basic realm="x"')
    assert basic is not None
    assert basic.scheme == "basic"
    assert parse_challenge("Negotiate") is None


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Bearer realm=https://a.example/token,service=reg", ("bearer", "https://a.example/token", "reg")),
        ('Bearer Realm = "https://a.example/t" , SERVICE=reg', ("bearer", "https://a.example/t", "reg")),
        ('Bearer realm="https://a.example/t", Basic realm="other"', ("bearer", "https://a.example/t", "")),
        (
            'Negotiate, Bearer realm="https://a.example/t",service="r", Basic realm="o"',
            ("bearer", "https://a.example/t", "r"),
        ),
        ('Bearer realm="https://a.example/t",realm="https://b.example/t"', ("bearer", "https://a.example/t", "")),
        ('Basic realm="x", Bearer realm="y"', ("basic", "x", "")),
        ("Bearer", ("bearer", "", "")),
        ('Bearer realm="https://a', ("bearer", "", "")),
    ],
)
def test_a_challenge_is_taken_for_what_it_says(header: str, expected: tuple[str, str, str]) -> None:
    """Of several the first, with its own parameters."""
    found = parse_challenge(header)
    assert found is not None
    assert (found.scheme, found.realm, found.service) == expected


def test_a_token_server_without_tls_is_refused() -> None:
    def ask(*args: Any) -> Any:
        raise AssertionError("nothing may be sent there")

    authorizer = Authorizer(parse_reference("a.example/x"), ask, plain_http=False)
    with pytest.raises(TransportError) as caught:
        authorizer.challenged('Bearer realm="http://auth.example/token"', "repository:x:pull", None)
    assert caught.value.code == "transport.insecure-realm"


@pytest.mark.parametrize(
    ("registry", "plain_http", "realm", "asked"),
    [
        ("127.0.0.1:5000/x", False, "http://127.0.0.1:5001/token", True),
        ("127.0.0.1:5000/x", False, "http://localhost/token", True),
        ("127.0.0.1:5000/x", False, "http://auth.example/token", False),
        ("a.example/x", False, "http://127.0.0.1/token", False),
        ("a.example/x", True, "http://auth.example/token", True),
    ],
)
def test_a_password_goes_in_clear_to_loopback_or_where_asked(
    registry: str, plain_http: bool, realm: str, asked: bool
) -> None:
    authorizer = Authorizer(parse_reference(registry), lambda *args: (200, {"token": "t"}), plain_http=plain_http)
    if asked:
        assert authorizer.challenged(f'Bearer realm="{realm}"', "repository:x:pull", None) == ("Bearer t", True)
        return
    with pytest.raises(TransportError) as caught:
        authorizer.challenged(f'Bearer realm="{realm}"', "repository:x:pull", None)
    assert caught.value.code == "transport.insecure-realm"


def test_an_identity_token_is_traded_for_a_token(home: Path) -> None:
    _write(home / ".docker/config.json", {"auths": {"a.example": {"identitytoken": "refresh"}}})
    asked: list[Any] = []

    def ask(method: str, url: str, params: Any, form: Any, headers: Any) -> Any:
        asked.append((method, url, form["refresh_token"], form["scope"], headers))
        return 200, {"access_token": "t1", "expires_in": 300}

    authorizer = Authorizer(parse_reference("a.example/x"), ask, plain_http=False)
    challenge = 'Bearer realm="https://auth.example/token",service="reg"'
    assert authorizer.challenged(challenge, "repository:x:pull", None) == ("Bearer t1", True)
    assert authorizer.header("repository:x:pull") == "Bearer t1"
    assert asked == [("POST", "https://auth.example/token", "refresh", "repository:x:pull", {})]


def test_a_token_that_another_request_renewed_may_be_refused_as_well() -> None:
    """It may have expired since: only a token that was asked for here says something of us."""
    values = iter(("t1", "t2", "t3"))

    def ask(*args: Any) -> Any:
        return 200, {"token": next(values), "expires_in": 300}

    authorizer = Authorizer(parse_reference("a.example/x"), ask, plain_http=False)
    challenge, scope = 'Bearer realm="https://auth.example/token"', "repository:x:pull"
    assert authorizer.challenged(challenge, scope, None) == ("Bearer t1", True)
    assert authorizer.challenged(challenge, scope, "Bearer t1") == ("Bearer t2", True)
    # Another request, which had begun with t1.
    assert authorizer.challenged(challenge, scope, "Bearer t1") == ("Bearer t2", False)
    assert authorizer.challenged(challenge, scope, "Bearer t2") == ("Bearer t3", True)


@pytest.mark.parametrize("answer", ["[]", "7", '"x"', "null", "[" * 50_000, '{"Username": [], "Secret": {}}', ""])
def test_a_helper_that_answers_nonsense_is_not_used(home: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    (home / "answer").write_text(answer)
    helper = home / "docker-credential-odd"
    helper.write_text(f"#!/bin/sh\ncat {home}/answer\n")
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", str(home), prepend=":")
    _write(home / ".docker/config.json", {"credsStore": "odd"})
    assert find_credentials("a.example") is None


@pytest.mark.parametrize("value", [None, 1, 1.5, True, "", "\ud800", "%", [], [1], {}, {"a.example": 1}])
def test_odd_values_in_a_configuration(home: Path, value: Any) -> None:
    for place in ("auths", "credHelpers", "credsStore"):
        _write(home / ".docker/config.json", {place: value})
        assert find_credentials("a.example") is None
    for name in ("auth", "username", "password", "identitytoken"):
        _write(home / ".docker/config.json", {"auths": {"a.example": {"username": "u", name: value}}})
        found = find_credentials("a.example")
        assert found is None or found.basic().startswith("Basic ")


def test_a_configuration_nested_without_end_is_not_used(home: Path) -> None:
    (home / ".docker").mkdir()
    (home / ".docker/config.json").write_text("[" * 100_000)
    assert find_credentials("a.example") is None


def test_a_user_without_a_home_has_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a number which its system does not know."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", _nobody)
    assert find_credentials("a.example") is None


def _nobody(uid: int) -> None:
    raise KeyError(uid)


def test_a_helper_that_hangs_is_asked_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    helper = home / "docker-credential-test"
    helper.write_text(f"#!/bin/sh\necho x >> {home}/asked\nexec sleep 60\n")
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:/usr/bin:/bin")
    monkeypatch.setattr("kerncap.transport.credentials._HELPER_TIMEOUT_S", 0.5)
    _write(home / ".docker/config.json", {"credsStore": "test"})
    with caplog.at_level("WARNING", logger="kerncap"):
        assert find_credentials("b.example") is None
    assert (home / "asked").read_text() == "x\n"
    assert "does not answer within 0.5 s" in caplog.text
