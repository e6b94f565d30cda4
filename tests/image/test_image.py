"""The Dockerfile's steps in a fresh folder, and the settings of compose.yaml. No engine runs here."""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme
import yaml

from cognition_engines.store.opening import OLDEST_POSTGRESQL, parse_url
from cstp_server.loaded_settings import load_settings
from cstp_server.tokens import create_token
from tests.image.dockerfile import Build, command, context, stages, variables
from tests.programs import run_program
from tests.stores import free_port

ROOT = Path(__file__).parents[2]
BUILD, RUNTIME = stages((ROOT / "Dockerfile").read_text())
DIGEST = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")


def test_a_build_sees_exactly_its_needed_files() -> None:
    seen = context(ROOT)
    assert not [
        path
        for path in seen
        if path.startswith(("tests", "benchmarks", "build", ".git", "data")) and not path.startswith("tests/wire/")
    ]
    assert {"pyproject.toml", "README.md", "LICENSE", "docs/decisions", "a2a", "skills"} <= {
        part for path in seen for part in (path, path.split("/")[0], "/".join(path.split("/")[:2]))
    }


@pytest.mark.timeout(900)
def test_the_image_is_healthy(tmp_path: Path, request: pytest.FixtureRequest, wait_until: Callable[..., None]) -> None:
    """Run every step in the long form; the short form takes the locked requirements from this environment."""
    every_step = request.config.getoption("--chaos") == "long"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, **dict(variables(BUILD)), "PATH": path}
    build = Build(ROOT, tmp_path, environment)
    (tmp_path / "src").mkdir()
    runs = 0
    for step in BUILD[1:]:
        if step.name == "COPY":
            build.copy(step.rest)
        elif step.name == "RUN":
            runs += 1
            if runs == 1 and not every_step:
                borrow(tmp_path / "opt" / "cstp")
            else:
                build.run(step.rest)
        else:
            assert step.name in ("ENV", "WORKDIR")
    wheel, *others = (tmp_path / "dist").glob("cognition_cstp-*.whl")
    assert not others
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    assert {"cstp/py.typed", "cstp_server/config/server.yaml", "cognition_engines/store/schema.py"} <= names
    assert any(name.startswith("cstp_server/demo/decisions/") for name in names)
    shutil.rmtree(tmp_path / "src")  # the image has no source
    (tmp_path / "data").mkdir()
    create_token(tmp_path / "data" / "tokens.json", "me", lifetime=timedelta(hours=1))
    certificate = tmp_path / "both.pem"
    trustme.CA().issue_cert("decisions.example.org").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    serve_and_check(tmp_path, wait_until)
    serve_and_check(tmp_path, wait_until, CSTP_SERVER__SSL_CERTFILE=str(certificate))


def borrow(folder: Path) -> None:
    """Make a virtual environment with the requirements of the running environment, without the project."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    # the folder's own .pth files, such as for an editable install, are not read this way
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))


def serve_and_check(folder: Path, wait_until: Callable[..., None], **settings: str) -> None:
    given = dict(variables(RUNTIME))
    bin_folder = given["PATH"].split(":")[0]
    home, temporary = folder / "home", folder / "tmp"
    for each in (home, temporary):
        each.mkdir(exist_ok=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("CSTP_", "PYTHONPATH"))},
        "PATH": f"{folder}{bin_folder}:/usr/bin:/bin",
        "CSTP_DATA_DIR": f"{folder}{given['CSTP_DATA_DIR']}",
        "CSTP_SERVER__PORT": str(free_port()),
        "CSTP_EMBEDDING__MODEL": "none",
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "HTTP_PROXY": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        **settings,
    }
    running = subprocess.Popen(command(RUNTIME, "CMD"), cwd=home, env=environment, stderr=subprocess.DEVNULL)
    check = command(RUNTIME, "HEALTHCHECK")

    def healthy() -> bool:
        assert running.poll() is None
        return subprocess.run(check, cwd=folder, env=environment, capture_output=True).returncode == 0

    try:
        wait_until(healthy, 120)
        where = "import cstp_server; print(cstp_server.__file__)"
        used = run_program("python", "-c", where, cwd=folder, env=environment, check=True)
        assert used.stdout.startswith(f"{folder}/opt/cstp/")
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
        assert not [*home.iterdir()], "it writes to its data folder and temporary files alone"
    finally:
        running.kill()
        running.wait()


def test_the_image_runs_as_a_user_without_rights_in_one_volume() -> None:
    (user,) = [step.rest for step in RUNTIME if step.name == "USER"]
    (volume,) = [step.rest for step in RUNTIME if step.name == "VOLUME"]
    assert int(user) > 0
    assert dict(variables(RUNTIME))["CSTP_DATA_DIR"] == volume
    assert "--uid " + user in " ".join(step.rest for step in RUNTIME if step.name == "RUN")


@pytest.fixture
def compose() -> Any:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def filled(value: str) -> str:
    """Return a compose.yaml value with a password for each required variable, and no other variables."""
    required = re.sub(r"\$\{\w+:\?[^}]*\}", "secret1", value)
    return re.sub(r"\$\{\w+:-\}", "", required).replace("$$", "$")


def test_every_image_is_named_by_its_digest(compose: Any) -> None:
    (built, *name), run = (stage[0].rest.split() for stage in (BUILD, RUNTIME))
    assert name == ["AS", "build"]
    images = [built, *run, *(each["image"] for each in compose["services"].values() if "image" in each)]
    assert [image for image in images if not DIGEST.fullmatch(image)] == []
    assert [built] == run
    assert len(images) == len(compose["services"]) + 1


def test_every_service_is_confined_and_only_the_server_is_reached_from_outside(compose: Any) -> None:
    services, networks = compose["services"], compose["networks"]
    for name, service in services.items():
        confined = (service["read_only"], service["cap_drop"], service["security_opt"])
        assert confined == (True, ["ALL"], ["no-new-privileges:true"]), name
        assert not service.keys() & {"cap_add", "privileged", "network_mode", "pid", "devices"}, name
        if name != "cstp":
            (own,) = service["networks"]
            assert (networks[own], "ports" in service) == ({"internal": True}, False), name
            assert [other for other, its in services.items() if own in its["networks"]] == ["cstp", name]


def test_redis_has_a_password(compose: Any, shared_redis: Any, tmp_path: Path, wait_until: Callable[..., None]) -> None:
    redis = compose["services"]["redis"]
    path = f"{Path(sys.executable).parent}:{Path(shared_redis.binary).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, **{name: filled(value) for name, value in redis["environment"].items()}}
    port = free_port()
    *shell, script = map(filled, redis["command"])
    _, check = redis["healthcheck"]["test"]
    ping = [*shell, check.replace("redis-cli", f"redis-cli -p {port}")]
    command = [*shell, f"{script} --bind 127.0.0.1 --port {port}"]
    running = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)

    def pinged(**variables: str) -> int:
        return subprocess.run(ping, env={"PATH": path, **variables}, capture_output=True).returncode

    try:
        wait_until(lambda: pinged(REDISCLI_AUTH="secret1") == 0, 30)
        assert (pinged(), pinged(REDISCLI_AUTH="another")) == (1, 1)
        assert "secret1" not in Path(f"/proc/{running.pid}/cmdline").read_text()
        assert not [*tmp_path.iterdir()]
    finally:
        running.kill()
        running.wait()


def test_the_settings_in_compose_are_ours_and_name_its_services(compose: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("CSTP_")]:
        monkeypatch.delenv(name)
    server = compose["services"]["cstp"]
    for name, value in server["environment"].items():
        monkeypatch.setenv(name, filled(value))
    settings = load_settings({}).settings
    store = parse_url(settings.store_url)
    database = compose["services"][store.host]["environment"]
    assert (store.username, store.database) == (database["POSTGRES_USER"], database["POSTGRES_DB"])
    assert database["POSTGRES_PASSWORD"] in server["environment"]["CSTP_STORE__URL"]
    assert settings.vectors.url == "http://chroma:8000"
    redis = urlsplit(settings.limits.redis_url or "")
    assert (redis.scheme, redis.hostname, redis.password) == ("redis", "redis", "secret1")
    assert set(server["depends_on"]) == {"postgres", "chroma", "redis"} == compose["services"].keys() - {"cstp"}
    for needed, how in server["depends_on"].items():
        assert (how["condition"] == "service_healthy") == ("healthcheck" in compose["services"][needed])
    assert float(server["stop_grace_period"].removesuffix("s")) > settings.server.grace_seconds


def test_compose_and_image_agree_on_port_volume_and_versions(compose: Any) -> None:
    server = compose["services"]["cstp"]
    (exposed,) = [step.rest for step in RUNTIME if step.name == "EXPOSE"]
    assert [port.split(":")[-1] for port in server["ports"]] == [exposed] == [server["command"][-1]]
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    assert [volume.split(":")[1] for volume in server["volumes"]] == [dict(variables(RUNTIME))["CSTP_DATA_DIR"]]
    named = {volume.split(":")[0] for each in compose["services"].values() for volume in each.get("volumes", ())}
    assert named == set(compose["volumes"])
    locked = re.search(r"^chromadb==(\S+)", (ROOT / "requirements" / "server.txt").read_text(), re.MULTILINE)
    assert locked is not None
    assert compose["services"]["chroma"]["image"].startswith(f"chromadb/chroma:{locked[1]}@")
    version = re.match(r"postgres:(\d+)", compose["services"]["postgres"]["image"])
    assert version is not None
    assert int(version[1]) >= OLDEST_POSTGRESQL
