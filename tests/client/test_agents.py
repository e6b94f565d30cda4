"""`AgentRegistry` over `agents.yaml`, as F005 describes it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cstp import AsyncClient, Client
from cstp.agents import AgentRegistry
from tests.programs import run_python

TWO = """
agents:
  - name: shop
    url: http://127.0.0.1:8101
    token_env: SHOP_TOKEN
  - name: billing
    url: https://billing.example/cstp
    token_env: BILLING_TOKEN
defaults:
  timeout_seconds: 5
  retries: 1
"""


def registry(folder: Path, text: str, **environment: str) -> AgentRegistry:
    file = folder / "agents.yaml"
    file.write_text(text, encoding="utf-8")
    return AgentRegistry(file, environment)


def test_it_lists_the_agents_of_the_file_and_gets_them_by_name(tmp_path: Path) -> None:
    agents = registry(tmp_path, TWO)
    assert [agent.name for agent in agents.list()] == ["shop", "billing"]
    assert agents.get("billing").url == "https://billing.example/cstp"
    assert agents.get("shop").token_env == "SHOP_TOKEN"


async def test_it_makes_clients_of_both_kinds_with_the_defaults_of_the_file(tmp_path: Path) -> None:
    agents = registry(tmp_path, TWO, SHOP_TOKEN="s", BILLING_TOKEN="b")
    with agents.client("shop") as client:
        assert isinstance(client, Client)
        assert repr(client) == "<Client http://127.0.0.1:8101/cstp>"
        assert (client._target.timeout, client._target.retries) == (5, 1)
    async with agents.async_client("billing") as other:
        assert isinstance(other, AsyncClient)
        assert repr(other) == "<AsyncClient https://billing.example/cstp>"


def test_thirty_seconds_and_three_retries_are_the_defaults(tmp_path: Path) -> None:
    agents = registry(tmp_path, TWO.partition("defaults")[0], SHOP_TOKEN="s")
    with agents.client("shop") as client:
        assert (client._target.timeout, client._target.retries) == (30, 3)


def test_the_environment_of_the_process_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agents.yaml").write_text(TWO)
    monkeypatch.setenv("SHOP_TOKEN", "s")
    AgentRegistry(str(tmp_path / "agents.yaml")).client("shop").close()


def test_an_unknown_name_and_a_missing_token_are_value_errors_with_a_remedy(tmp_path: Path) -> None:
    agents = registry(tmp_path, TWO, SHOP_TOKEN="")
    for ask in (agents.get, agents.client, agents.async_client):
        with pytest.raises(ValueError, match=r"no agent 'nobody'; it has shop, billing"):
            ask("nobody")
    with pytest.raises(ValueError, match=r"no token for shop: .*token_env"):
        agents.client("shop")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file"),
        ("agents: [", "not YAML"),
        ("agents: 1", "agents"),
        ("agents:\n  - {name: a, url: 'http://a', token_env: A, token: canary5b1f}", r"agents\[0\].token"),
        ("agents:\n  - {name: a, url: canary5b1f, token_env: A}", r"agents\[0\].url: .*http://host:8100"),
        ("agents:\n  - {name: a, url: 'http://a'}", r"agents\[0\].token_env"),
        ("agents:\n  - {name: '', url: 'http://a', token_env: A}", r"agents\[0\].name"),
        ("agents: []\ndefaults: {timeout_seconds: 0}", "defaults.timeout_seconds"),
        ("agents: []\ndefaults: {timeout_seconds: 1.0e+10}", "defaults.timeout_seconds"),
        ("agents: []\ndefaults: {timeout_seconds: .nan}", "defaults.timeout_seconds"),
        ("agents: []\ndefaults: {retries: -1}", "defaults.retries"),
        ("agents: []\ndefault: {}", "default"),
        ("agents:\n" + "  - {name: a, url: 'http://a', token_env: A}\n" * 2, "same name"),
    ],
)
def test_a_bad_file_is_refused_by_place_without_values(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        registry(tmp_path, text)
    assert "agents.yaml" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_token_instead_of_a_variable_is_hidden(tmp_path: Path, shown: Callable[[BaseException], str]) -> None:
    agents = registry(tmp_path, TWO.replace("SHOP_TOKEN", "cstp_canary5b1f"), OTHER_TOKEN="canary5b1f")
    for ask in (agents.client, agents.async_client):
        with pytest.raises(ValueError, match="token_env") as caught:
            ask("shop")
        assert "canary" not in shown(caught.value)


def test_a_refused_file_shows_no_token_in_tracebacks(tmp_path: Path, shown: Callable[[BaseException], str]) -> None:
    wrong = "agents:\n  - {name: a, url: 'http://a', token_env: A, token: canary5b1f}"
    with pytest.raises(ValueError, match="token") as caught:
        registry(tmp_path, wrong, A="canary5b1f")
    assert "canary" not in shown(caught.value)


def test_without_pyyaml_the_import_names_the_package_to_install() -> None:
    program = "import sys; sys.modules['yaml'] = None; import cstp.agents"
    done = run_python(program)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: cstp.agents reads YAML")
    assert "pip install pyyaml" in done.stderr
