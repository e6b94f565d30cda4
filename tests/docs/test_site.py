"""The site: it builds, shows every page, and fails on a dead link."""

import shutil
from pathlib import Path

import pytest
import yaml

from cstp.methods.registry import FAMILIES
from cstp_server.generate.method_pages import method_pages
from tests.docs.site import PAGES, ROOT, build


@pytest.mark.long("builds the site")
@pytest.mark.timeout(600)
def test_the_site_builds_and_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    assert build(ROOT, tmp_path / "pages", tmp_path / "site") == 0
    for family, methods in FAMILIES.items():
        page = (tmp_path / "site" / "docs" / "methods" / f"{family}.html").read_text()
        assert {method.name for method in methods if f">{method.name}<" not in page} == set()
    start = (tmp_path / "site" / "index.html").read_text()
    assert 'src="http' not in start
    assert "fonts.googleapis" not in start


@pytest.mark.long("builds the site")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("link", ["nowhere.md", "errors.md#no-such-heading"])
def test_a_broken_link_fails_the_build(link: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "root"
    for page in ("README.md", "docs/errors.md"):
        (root / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / page, root / page)
    (root / "README.md").write_text("# Start\n")
    (root / "docs" / "new.md").write_text(f"# New\n\nSee [it]({link}).\n")
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    settings["nav"] = ["README.md"]
    (root / "mkdocs.yml").write_text(yaml.safe_dump(settings))
    assert build(root, tmp_path / "pages", tmp_path / "site") == 1
    assert link.partition("#")[0] in capfd.readouterr().err


def test_every_page_of_the_documents_is_in_the_navigation_but_decisions_and_methods() -> None:
    assert "docs/**/*" in PAGES
    named = yaml.safe_dump(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    listed = {*method_pages()}  # by docs/methods/README.md
    assert {page for page in pages - listed if page not in named and "/decisions/" not in page} == set()
