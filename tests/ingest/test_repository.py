"""Names of repositories, and paths of files in them."""

from pathlib import Path

import pytest

from cognition_engines.ingest.repository import Places, scope_within


def checkout(folder: Path, config: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/config").write_text(config)
    return folder


def named(folder: Path, url: str) -> str:
    checkout(folder, f'[remote "origin"]\n\turl = {url}\n')
    return Places().of(folder / "a.md", folder).repository


@pytest.mark.parametrize(
    "url",
    [
        "https://host.example/acme/shop",
        "https://host.example/acme/shop.git",
        "https://HOST.example/acme/shop.git/",
        "https://ana:secret@host.example/acme/shop",
        "https://host.example:8443/acme//shop.git",
        "http://host.example/acme/shop",
        "ssh://git@host.example/acme/shop.git",
        "ssh://git@host.example:2222/acme/shop",
        "git://host.example/acme/shop.git",
        "git@host.example:acme/shop.git",
        "host.example:/acme/shop",
        '"https://host.example/acme/shop" ; where it is',
        "https://host.example/acme/shop # where it is",
    ],
)
def test_spellings_of_a_remote_have_the_same_name(tmp_path: Path, url: str) -> None:
    assert named(tmp_path / "repo", url) == "host.example/acme/shop"


def test_the_path_of_a_remote_keeps_its_case_and_other_paths_are_other_repositories(tmp_path: Path) -> None:
    urls = ["https://h.example/Acme/shop", "https://h.example/acme/shop", "https://i.example/acme/shop"]
    urls += ["https://h.example/acme/shop/docs", "/srv/git/shop.git"]
    found = [named(tmp_path / str(number), url) for number, url in enumerate(urls)]
    assert len(set(found)) == len(urls)
    assert found[-1] == "/srv/git/shop"


@pytest.mark.parametrize(
    "url", ["https:///", "https://[::1", "ssh://h.example/\x1b]0;x", "https://h.example/" + "x" * 2000]
)
def test_a_remote_without_a_name_leaves_the_folder_as_the_name(tmp_path: Path, url: str) -> None:
    assert named(tmp_path / "repo", url) == str(tmp_path / "repo")


def test_origin_comes_before_other_remotes_and_includes_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "more").write_text('[remote "origin"]\nurl = https://h.example/included\n')
    config = f'[include]\n\tpath = {tmp_path}/more\n[remote "fork"]\n\turl = https://h.example/fork\n'
    fork = checkout(tmp_path / "fork", config)
    both = checkout(tmp_path / "both", config + '[remote "origin"] URL=https://h.example/origin\n[branch "main"]\n')
    other = checkout(tmp_path / "other", '[branch "x"]\n\turl = https://h.example/none\n')
    places = Places()
    assert places.of(fork / "a.md", fork).repository == "h.example/fork"
    assert places.of(both / "a.md", both).repository == "h.example/origin"
    assert places.of(other / "a.md", other).repository == str(other)


def test_worktrees_and_submodules_name_the_remote_of_their_git_folder(tmp_path: Path) -> None:
    main = checkout(tmp_path / "main", '[remote "origin"]\n\turl = https://h.example/shop\n')
    of_tree = main / ".git/worktrees/tree"
    of_tree.mkdir(parents=True)
    (of_tree / "commondir").write_text("../..\n")
    tree = tmp_path / "tree"
    (tree / "docs").mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {of_tree}\n")
    module = main / "vendor/lib"
    (main / ".git/modules/lib").mkdir(parents=True)
    (main / ".git/modules/lib/config").write_text('[remote "origin"]\n\turl = git@h.example:lib.git\n')
    module.mkdir(parents=True)
    (module / ".git").write_text("gitdir: ../../.git/modules/lib\n")
    places = Places()
    found = [places.of(file, file) for file in (tree / "docs/a.md", main / "docs/a.md", module / "a.md")]
    assert [(one.repository, one.path) for one in found] == [
        ("h.example/shop", "docs/a.md"),
        ("h.example/shop", "docs/a.md"),
        ("h.example/lib", "a.md"),
    ]


@pytest.mark.parametrize("way", ["a file", "a folder in the file", "a link", "a linked config", "a common folder"])
def test_a_git_folder_leads_to_no_configuration_outside_the_named_folder(tmp_path: Path, way: str) -> None:
    private = checkout(tmp_path / "private", '[remote "origin"]\n\turl = https://h.example/private\n') / ".git"
    named = tmp_path / "named"
    marker = named / "inner/.git"
    marker.parent.mkdir(parents=True)
    match way:
        case "a file":
            marker.write_text(f"gitdir: {private}\n")
        case "a folder in the file":
            (named / "lead").symlink_to(private)
            marker.write_text("gitdir: ../lead\n")
        case "a link":
            marker.symlink_to(private)
        case "a linked config":
            marker.mkdir()
            (marker / "config").symlink_to(private / "config")
        case _:
            (named / "own").mkdir()
            (named / "own/commondir").write_text(f"{private}\n")
            marker.write_text("gitdir: ../own\n")
    assert Places().of(named / "inner/a.md", named).repository == str(named / "inner")


def test_a_named_worktree_or_submodule_needs_a_reference_in_return(tmp_path: Path) -> None:
    main = checkout(tmp_path / "main", '[remote "origin"]\n\turl = https://h.example/shop\n') / ".git"
    for part in ("worktrees/tree", "modules/lib"):
        (main / part).mkdir(parents=True)
    (main / "worktrees/tree/commondir").write_text("../..\n")
    (main / "worktrees/tree/gitdir").write_text(f"{tmp_path / 'tree/.git'}\n")
    config = '[core]\n\tworktree = ../../../../lib\n[remote "origin"]\n\turl = git@h.example:lib.git\n'
    (main / "modules/lib/config").write_text(config)
    targets = {"tree": "worktrees/tree", "lib": "modules/lib", "thief": "worktrees/tree", "other": "modules/lib"}
    for name, target in targets.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_text(f"gitdir: {main / target}\n")
    found = {name: Places().of(tmp_path / name / "a.md", tmp_path / name).repository for name in targets}
    own = {name: str(tmp_path / name) for name in ("thief", "other")}
    assert found == {"tree": "h.example/shop", "lib": "h.example/lib"} | own


def test_a_path_as_remote_is_named_without_resolving_links(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("secret")
    assert named(tmp_path / "repo", "../link/shop") == str(tmp_path / "link/shop")


def test_outside_a_checkout_the_folder_of_a_file_is_its_repository(tmp_path: Path) -> None:
    found = [Places().of(tmp_path / "docs/a.md", run) for run in (tmp_path, tmp_path / "docs", tmp_path / "docs/a.md")]
    assert {(one.repository, one.path) for one in found} == {(str(tmp_path / "docs"), "a.md")}


def test_an_override_names_all_and_makes_the_named_folder_the_root_outside_of_a_checkout(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", '[remote "origin"]\n\turl = https://h.example/shop\n')
    archive = tmp_path / "archive"
    (archive / "docs").mkdir(parents=True)
    places = Places("https://x@h.example/shop.git")
    inside, outside = places.of(repo / "docs/a.md", repo / "docs"), places.of(archive / "docs/a.md", archive)
    assert [(one.repository, one.path) for one in (inside, outside)] == [("h.example/shop", "docs/a.md")] * 2
    assert Places("shop").of(archive / "docs/a.md", archive).repository == "shop"


def test_a_link_to_a_folder_of_a_checkout_leads_to_the_checkout(tmp_path: Path) -> None:
    repo = checkout(tmp_path / "repo", '[remote "origin"]\n\turl = https://h.example/shop\n')
    (repo / "docs").mkdir()
    (tmp_path / "link").symlink_to(repo / "docs")
    found = Places().of(tmp_path / "link/a.md", tmp_path / "link")
    assert (found.repository, found.path, found.source) == ("h.example/shop", "docs/a.md", str(tmp_path / "link/a.md"))


def test_a_scope_is_within_itself_and_the_scopes_above() -> None:
    assert scope_within("hr", "hr")
    assert scope_within("hr/a.md", "hr")
    assert scope_within("hr", ".")
    assert scope_within("/data/hr", "/data")
    assert scope_within("hr", "/")
    assert not scope_within(".", "hr")
    assert not scope_within("/", ".")
    assert not scope_within("hr2", "hr")
