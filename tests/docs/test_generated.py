"""Generated files equal the code's current output, and are true."""

import re
from pathlib import Path

import pytest

from cstp.error_models import data_models
from cstp.errors import ERRORS, QueryFailed
from cstp.methods.registry import FAMILIES, METHODS
from cstp_server.generate.method_pages import FOLDER, TYPES
from cstp_server.generate.reference import EXAMPLES, PAGES, ROOT, configuration_page, errors_page, main
from cstp_server.loaded_settings import load_settings
from cstp_server.settings import Settings
from cstp_server.source_settings import Section
from tests.docs.imports import draw_imports


@pytest.mark.parametrize("path", PAGES)
def test_a_generated_file_is_up_to_date(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == PAGES[path](), "run: make docs"


def test_the_pictures_of_imports_are_up_to_date() -> None:
    assert draw_imports() in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"), "run: make docs"


def test_every_method_has_a_section_and_no_page_is_left_over() -> None:
    pages = {path for path in PAGES if path.startswith(FOLDER)}
    assert pages == {f"{FOLDER}/README.md", TYPES, *(f"{FOLDER}/{family}.md" for family in FAMILIES)}
    assert {str(path.relative_to(ROOT)) for path in (ROOT / FOLDER).iterdir()} == pages
    assert sorted(method.name for methods in FAMILIES.values() for method in methods) == sorted(
        method.name for method in METHODS
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_page_names_every_parameter_and_every_member_of_its_methods(family: str) -> None:
    page = PAGES[f"{FOLDER}/{family}.md"]()
    for method in FAMILIES[family]:
        section = page.partition(f"\n## {method.name}\n")[2].partition("\n## ")[0]
        parameters, _, result = section.partition("**Result.**")
        for text, schema in (
            (parameters, method.params.model_json_schema()),
            (result, method.result.model_json_schema(mode="serialization")),
        ):
            assert [name for name in schema["properties"] if f"| `{name}` |" not in text] == []
            for name, model in schema.get("$defs", {}).items():
                types = (page + PAGES[TYPES]()).partition(f"\n### {name}\n")[2].partition("\n### ")[0]
                assert [member for member in model.get("properties", ()) if f"| `{member}` |" not in types] == []


@pytest.mark.long("generates all pages")
def test_up_to_date_files_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: (ROOT / path).stat().st_mtime_ns for path in PAGES}
    assert main(["--write"]) == 0
    assert capsys.readouterr().out == ""
    assert {path: (ROOT / path).stat().st_mtime_ns for path in PAGES} == before


def test_the_shipped_settings_file_states_every_default() -> None:
    loaded = load_settings({}, ROOT / "config" / "server.yaml")
    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {str(ROOT / "config" / "server.yaml")}


def test_the_settings_file_is_read_from_any_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings({}).settings == Settings()


def test_every_setting_has_a_reason_and_every_section_a_summary() -> None:
    page = configuration_page()
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            assert kind.__doc__, name
            inner = {f"{name}.{key}": value for key, value in kind.model_fields.items()}
        else:
            inner = {name: field}
        for setting, value in inner.items():
            assert value.description, setting
            assert value.description.endswith("."), setting
            assert f"| `{setting}` |" in page


def test_no_line_about_an_error_is_indented_as_code_would_be() -> None:
    assert [line for line in errors_page().splitlines() if line.startswith(" ")] == []


def test_every_component_named_in_an_error_is_explained() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "a2a" / "cstp_server").rglob("*.py"))
    named = set(re.findall(r'QueryFailed\("(\w+)"', code))
    assert {"answer", "server"} <= named
    for text in (QueryFailed.__doc__ or "", QueryFailed.meaning, QueryFailed.about_data):
        assert named <= set(re.findall(r"`(\w+)`", text))


def test_every_error_is_explained_once_in_the_order_of_the_tree() -> None:
    assert [type(error) for error in EXAMPLES] == list(ERRORS)
    assert all(error.meaning and error.family != "other" for error in ERRORS)
    assert all(bool(error.about_data) == (error in data_models()) for error in ERRORS)
    assert len({error.code for error in ERRORS}) == len(ERRORS)
