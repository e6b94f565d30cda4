"""Settings: precedence of sources, and messages about wrong values."""

import os
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.errors import ConfigurationError
from cstp_server.loaded_settings import LoadedSettings, load_settings, shipped_file
from cstp_server.settings import Settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder without CSTP_* variables."""
    for name in list(os.environ):
        if name.upper().startswith("CSTP_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refused(flags: dict[str, Any] | None = None, config: Path | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(flags or {}, config)
    return str(caught.value)


def test_each_source_wins_over_the_next_and_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def port() -> tuple[int, str]:
        loaded = load_settings({})
        return loaded.settings.server.port, loaded.origins["server.port"]

    shipped = load_settings({})
    assert shipped.settings == Settings()
    assert shipped.origins["server.port"] in (str(shipped_file()), "default")

    monkeypatch.setenv("CSTP_CONFIG", str(write(folder / "named.yaml", "server:\n  port: 1001\n")))
    assert port() == (1001, str(folder / "named.yaml"))

    given = write(folder / "mine.yaml", "server:\n  port: 1002\n")
    loaded = load_settings({}, given)
    assert (loaded.settings.server.port, loaded.origins["server.port"]) == (1002, str(given))

    monkeypatch.setenv("CSTP_SERVER__PORT", "1003")
    loaded = load_settings({}, given)
    assert loaded.settings.server.port == 1003
    assert loaded.origins["server.port"] == "environment CSTP_SERVER__PORT"

    loaded = load_settings({"server.port": 1004, "server.host": None}, given)
    assert (loaded.settings.server.port, loaded.origins["server.port"]) == (1004, "flag")
    assert loaded.settings.server.host == "127.0.0.1"


def test_a_file_of_the_working_folder_is_not_used_unless_it_is_named(folder: Path) -> None:
    write(folder / "config" / "server.yaml", "embedding:\n  model: chroma:huggingface_server\nnonsense: 1\n")
    loaded = load_settings({})
    assert loaded.settings == Settings()
    assert loaded.sources == ()


def test_given_settings_are_named_without_flags_and_defaults(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(folder / "mine.yaml", "server:\n  port: 1\n")
    monkeypatch.setenv("CSTP_SERVER__HOST", "::1")
    monkeypatch.setenv("CSTP_URL", "http://127.0.0.1:1")
    assert load_settings({"limits.default": "5/minute"}, file).sources == (str(file), "CSTP_SERVER__HOST")


def test_the_file_shipped_with_the_server_is_named_when_edited() -> None:
    file, edited = shipped_file(), Settings.model_validate({"server": {"port": 1}})
    assert load_settings({}).sources == ()
    assert LoadedSettings(edited, {"server.port": "flag"}, file).sources == ()
    assert LoadedSettings(edited, {"server.port": str(file)}, file).sources == (str(file),)


def test_every_setting_has_an_origin() -> None:
    origins = load_settings({"limits.default": "5/minute"}).origins
    for section, model in Settings().model_dump().items():
        names = [f"{section}.{name}" for name in model] if isinstance(model, dict) else [section]
        assert set(names) <= set(origins)
    assert origins["limits.default"] == "flag"


def test_layers_mix_within_a_section(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(folder / "mine.yaml", "limits:\n  default: 7/minute\n  agents:\n    a.b: 9/minute\n")
    monkeypatch.setenv("CSTP_LIMITS__AUTH_FAILURES", "3/minute")
    settings = load_settings({"limits.redis_url": "redis://x"}, file).settings
    assert (settings.limits.default, settings.limits.auth_failures) == ("7/minute", "3/minute")
    assert settings.limits.agents == {"a.b": "9/minute"}
    assert settings.limits.redis_url == "redis://x"


def test_the_environment_may_hold_json_for_a_list_or_mapping_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_SERVER__TRUSTED_PROXIES", '["10.0.0.0/8"]')
    monkeypatch.setenv("CSTP_LIMITS__COSTS", '{"cstp.whoami": 3}')
    monkeypatch.setenv("CSTP_DATA_DIR", "/somewhere")
    monkeypatch.setenv("CSTP_SOURCES", '[{"url": "chroma:http://chroma:8000/notes", "sensitivity": "sensitive"}]')
    settings = load_settings({}).settings
    assert [(one.url, one.sensitivity) for one in settings.sources] == [
        ("chroma:http://chroma:8000/notes", "sensitive")
    ]
    assert settings.server.trusted_proxies == ("10.0.0.0/8",)
    assert settings.limits.costs == {"cstp.whoami": 3}
    assert settings.data_dir == Path("/somewhere")


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_SERVER__PORT", "")
    monkeypatch.setenv("CSTP_NOWHERE__PORT", "")
    loaded = load_settings({})
    assert loaded.settings.server.port == Settings().server.port
    assert not loaded.origins["server.port"].startswith("environment")


@pytest.mark.parametrize("text", ["", "# nothing\n", "server:\n", "server:\n  # port: 1\nlimits:\n", "server: {}\n"])
def test_a_file_with_only_comments_sets_nothing(folder: Path, text: str) -> None:
    path = write(folder / "mine.yaml", text)
    assert load_settings({}, path).settings == Settings()
    assert load_settings({"server.port": 1}, path).settings.server.port == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("server:\n  prot: 1\n", "server.prot"),
        ("sevrer:\n  port: 1\n", "sevrer"),
        ("sevrer:\n", "sevrer"),
        ("port: 1\n", "port"),
        ("server:\n  port: many\n", "server.port"),
        ("server:\n  port: 70000\n", "server.port"),
        ("server: 5\n", "server"),
        ("server: [1]\n", "server"),
        ("limits:\n  costs:\n    cstp.whoami: 0\n", "limits.costs.cstp.whoami"),
        ("limits:\n  agents: 5\n", "limits.agents"),
        ("server:\n  trusted_proxies: 10.0.0.0/8\n", "server.trusted_proxies"),
        ("auth:\n  reload_seconds: 6\n", "auth.reload_seconds"),
        ("server:\n  grace_seconds: .nan\n", "server.grace_seconds"),
        ("log:\n  level: loud\n", "log.level"),
        ("data_dir: [1]\n", "data_dir"),
        ("sources: 5\n", "sources"),
        ("sources:\n  - url: notes\n", "sources.0.url"),
        ("sources:\n  - url: chroma:http://a:b@host/notes\n", "sources.0.url"),
        ("sources:\n  - project: alpha\n", "sources.0.url"),
        ("sources:\n  - url: chroma:notes/notes\n    project: ''\n", "sources.0.project"),
        ("sources:\n  - url: chroma:notes/notes\n    sensitivity: secret\n", "sources.0.sensitivity"),
        ("sources:\n  - url: chroma:notes/notes\n    prune: true\n", "sources.0.prune"),
        ("sources:\n  - url: chroma:notes/notes\n    path: docs\n", "sources.0.url"),
        ("sources:\n  - url: chroma:notes/notes\n    bots: true\n", "sources.0.bots"),
        ("sources:\n  - path: docs\n    kind: poem\n", "sources.0.kind"),
        ("sources:\n  - path: docs\n    exclude: ['!']\n", "sources.0.exclude"),
        ("data_dir:\n", "data_dir"),
        ("1: 2\n", "1"),
    ],
)
def test_a_wrong_entry_of_a_file_is_named_with_the_file(folder: Path, text: str, words: str) -> None:
    path = write(folder / "mine.yaml", text)
    for flags in ({}, {"server.max_batch": 5}):
        reason = refused(flags, path)
        assert reason.startswith(f"{words}: ") or f"\n{words}: " in reason
        assert f"(from {path})" in reason


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("CSTP_SERVER__PORT", "many", "server.port"),
        ("CSTP_SERVER__PROT", "1", "server.prot"),
        ("CSTP_SEVRER__PORT", "1", "CSTP_SEVRER__PORT: no such setting; did you mean CSTP_SERVER__PORT?"),
        ("CSTP_SERVER_PORT", "1", "CSTP_SERVER_PORT: no such setting; did you mean CSTP_SERVER__PORT?"),
        ("cstp_server_port", "1", "cstp_server_port: no such setting; did you mean CSTP_SERVER__PORT?"),
        ("CSTP_DATADIR", "x", "CSTP_DATADIR: no such setting; did you mean CSTP_DATA_DIR?"),
        ("CSTP_CONFIG_FILE", "x", "CSTP_CONFIG_FILE: no such setting; did you mean CSTP_CONFIG?"),
        ("CSTP_COLOUR", "red", "CSTP_COLOUR: no such setting; see cstp config for the names, or unset it"),
        ("CSTP_LIMITS__COSTS", '{"cstp.whoami": 0}', "limits.costs.cstp.whoami"),
        ("CSTP_LIMITS__COSTS", "not json", "CSTP_LIMITS__COSTS: must be JSON"),
        ("CSTP_LIMITS", "not json", "CSTP_"),
        ("CSTP_SERVER__TRUSTED_PROXIES", "10.0.0.0/8", "CSTP_"),
        ("CSTP_LOG__LEVEL", "loud", "log.level"),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str) -> None:
    monkeypatch.setenv(variable, value)
    reason = refused()
    assert words in reason
    assert "CSTP_" in reason


def test_a_wrong_flag_is_named_and_all_errors_are_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_LOG__LEVEL", "loud")
    path = write(folder / "mine.yaml", "server:\n  max_batch: 0\n")
    reason = refused({"server.port": -1, "server.nope": 1}, path)
    assert len(reason.splitlines()) == 4
    for line, place in (
        ("server.port", "flag"),
        ("server.nope", "flag"),
        ("server.max_batch", str(path)),
        ("log.level", "environment CSTP_LOG__LEVEL"),
    ):
        assert any(text.startswith(f"{line}: ") and text.endswith(f"(from {place})") for text in reason.splitlines())


def test_all_unknown_variables_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_SERVER_PORT", "1")
    monkeypatch.setenv("CSTP_STORE_URL", "x")
    assert [line.partition(":")[0] for line in refused().splitlines()] == ["CSTP_SERVER_PORT", "CSTP_STORE_URL"]


def test_no_value_is_repeated_in_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_LIMITS__REDIS_TIMEOUT_SECONDS", "canary")
    monkeypatch.setenv("CSTP_STORE__THREADS", "canary")
    assert "canary" not in refused()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a: [", b"- 1\n", b"text", b"a: !!python/object:os.system {}\n"])
def test_a_file_other_than_settings_is_refused_by_name(folder: Path, content: bytes) -> None:
    path = folder / "mine.yaml"
    path.write_bytes(content)
    assert str(path) in refused(config=path)


def test_a_requested_file_must_exist(folder: Path) -> None:
    assert refused(config=folder / "nope.yaml") == f"{folder / 'nope.yaml'}: no such settings file"


def test_a_file_named_by_the_environment_must_exist(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_CONFIG", "nope.yaml")
    assert refused() == "CSTP_CONFIG: nope.yaml: no such settings file"


def test_a_settings_file_outside_yaml_is_reported_with_its_line(folder: Path) -> None:
    file = write(folder / "own.yaml", "server:\n  port: 1\n  host: [\n")
    assert refused(config=file).startswith(f"{file}:4: ")
