"""Patterns for a decision: of files named in its text, and of files in commits that add or cite the decision."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from cognition_engines.git_program import GitFailed, run_git
from cognition_engines.ingest.adr.titles import file_name
from cognition_engines.kinds.affects import named_paths
from cognition_engines.models import Decision

_MOST: Final = 5  # patterns of a decision
_MOST_NAMES: Final = 2_000  # of a text
_LARGEST_COMMIT: Final = 20  # files
_LARGEST_FOLDER: Final = 100  # files
_SHARE: Final = 3  # a pattern matches at most this part of all files
_LEAST: Final = 4  # points of a file; and at least this part of the points of the best one
_FEW: Final = 3  # decisions of a commit, and reasons of a pattern
_COMMON: Final = 20  # a word in more than this part of the paths, and a few more, is no evidence
_PATH_POINTS: Final = 6
_COMMIT_POINTS: Final = 2
_IN_TITLE: Final = 3  # times the points, if the title and the path have a word in common
_NOISE: Final = re.compile(
    r"(?:^|/)(?:docs?|documentation|adrs?|decisions|vendor|third_party|node_modules|dist|\.[^/]*)/|[\[\]*?\\{}!#\s]"
    r"|(?:^|/)(?:(?:package|package-lock|composer|tsconfig[^/]*)\.json|go\.mod|pom\.xml|(?:cargo|pyproject)\.toml"
    r"|pnpm-lock\.yaml|gradle\.properties|[^/]*\.gradle(?:\.kts)?|makefile|\.[^/]*)$|[._-](?:pb|generated|gen|pb2)\."
    r"|\.(?:md|mdx|rst|adoc|txt|lock|lockb|sum|snap|log|png|jpe?g|svg|gif|ico|webp|pdf|puml|drawio)$|.{250}",
    re.IGNORECASE,
)
_TEST: Final = re.compile(
    r"(?:^|/)(?:test(?:s|ing|data)?|mocks?|fixtures?|__\w+)/|[._-](?:test|spec|mock)\.|Tests?\.\w+$"
)
_DEFINED: Final = (
    "^[[:space:]]*([a-z()]+ ){0,3}"
    "(class|struct|interface|trait|enum|type|data|newtype|record|func|function|def|fn|const) +"
    "[A-Za-z_][A-Za-z0-9_]+|^func [(][^)]*[)] [A-Za-z_][A-Za-z0-9_]+"
)
_NOTHING_FOUND: Final = "git grep ended with 1"
_LOG: Final = ("log", "--first-parent", "-m", "-n2000", "--name-only", "-z", "--format=%x01%h %s %b")
_CITED: Final = re.compile(r"\b(?:adr|decision)s?[-_ #:]{0,3}0*(\d{1,6})\b", re.IGNORECASE)
_URL: Final = re.compile(r"/(?:blob|tree)/[\w.-]{1,100}/([\w.@+/-]{1,200})")
_CODE: Final = re.compile(r"(?<!`)`([^`\n]{3,200})`(?!`)")
_NAME: Final = re.compile(r"(?<![\w/-])[A-Za-z_][\w-]{3,99}(?:\.\w{1,99})*(?![\w/-])")
_COMPOSED: Final = re.compile(r"[a-z\d][A-Z]|\w[._-][A-Za-z]|[A-Z]{2}[a-z]")
_WORD: Final = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}(?![a-z])")

Proposal: TypeAlias = tuple[str, str]  # a pattern, and the names or commits that are the reason
Commit: TypeAlias = tuple[str, str, Sequence[str]]  # abbreviated hash, message, changed files
_Evidence: TypeAlias = Iterator[tuple[str, int, str]]  # a file, or a folder with a slash at the end; points; the reason


def read_commits(root: Path, decisions: Collection[str]) -> Sequence[Commit]:
    """Return the last commits that change files next to decisions, and those that cite a decision by its number."""
    folders = {os.path.dirname(path) for path in decisions}
    found: dict[str, Commit] = {}
    cited = ("-i", "-E", "--grep=(adr|decision)s?[-_ #:]{0,3}[0-9]", "--")
    for words in (cited, ("--full-diff", "--", *(folder or "." for folder in sorted(folders)))):
        for one in os.fsdecode(run_git(root, *_LOG, *words)).split("\1")[1:]:
            head, *files = one.split("\0")
            hash, _, message = head.partition(" ")
            changed = [name.lstrip("\n") for name in files if name]
            if (
                sum(os.path.dirname(name) in folders for name in changed) <= _FEW
            ):  # else it is an import, or a change of the form
                found[hash] = (hash, message, changed)
    return [*found.values()]


def read_definitions(root: Path) -> Mapping[str, set[str]]:
    """Return the files that define a name, by the name."""
    found: dict[str, set[str]] = defaultdict(set)
    try:
        output = run_git(root, "grep", "-Izo", "-E", _DEFINED, environment={**os.environ, "LC_ALL": "C"})
    except GitFailed as error:
        if str(error) != _NOTHING_FOUND:
            raise
        return {}
    for line in os.fsdecode(output).split("\n"):
        path, _, defined = line.partition("\0")
        if defined and not (_NOISE.search(path) or _TEST.search(path)):
            found[defined.split()[-1]].add(path)
    return found


@lru_cache(maxsize=1 << 17)
def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower().removesuffix("s") for word in _WORD.findall(text))


@dataclass(frozen=True)
class Tree:
    """The tracked files of a repository, and the files that define a name."""

    tracked: Sequence[str]
    defined: Mapping[str, Collection[str]]

    @cached_property
    def common(self) -> AbstractSet[str]:
        """Return the words of many paths."""
        counts = Counter(word for path in self.tracked for word in _words(path))
        return {word for word, count in counts.items() if (count - _FEW) * _COMMON > len(self.tracked)}

    @cached_property
    def folders(self) -> Counter[str]:
        """Return the number of files below each folder; its name ends with a slash."""
        return Counter(path[: at + 1] for path in self.tracked for at, letter in enumerate(path) if letter == "/")

    @cached_property
    def places(self) -> AbstractSet[str]:
        """Return the files and folders that are no documents, manifests or files of tools."""
        return {path for path in (*self.tracked, *self.folders) if not _NOISE.search(path)}

    @cached_property
    def _by_name(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.places:
            name = path.rstrip("/").rpartition("/")[2]
            for each in {name, name.partition(".")[0]}:
                found[each].append(path)
        return found

    def find(self, name: str) -> Sequence[str]:
        """Return the files and folders with this path, or end of a path, with or without the extension."""
        above, _, last = name.strip("/").rpartition("/")
        paths = self._by_name.get(last, ())
        return [path for path in paths if f"/{path}".rstrip("/").rpartition("/")[0].endswith(above and f"/{above}")]

    def is_precise(self, place: str, decision: str) -> bool:
        """Return whether a file, or a folder of few files and without the decision's file, may be proposed."""
        count = self.folders.get(place, 1)
        return count <= min(_LARGEST_FOLDER, len(self.tracked) // _SHARE) and not decision.startswith(place)


def propose(path: str, decision: Decision, tree: Tree, commits: Sequence[Commit]) -> list[Proposal]:
    """Return at most _MOST patterns for the decision in a file, the best first."""
    title = _words(decision.title) - tree.common
    points, reasons = Counter[str](), defaultdict[str, dict[str, None]](dict)
    for evidence in (_named_paths(decision, tree), _named_code(decision, title, tree), _changed(path, tree, commits)):
        for place, count, why in evidence:
            points[place] += count * (_IN_TITLE if title & _words(place) else 1)
            reasons[place][why] = None
    least = max(_LEAST, max(points.values(), default=0) / _LEAST)
    chosen = {place: count for place, count in points.items() if count >= least and tree.is_precise(place, path)}
    for folder, files in _shared_folders(chosen, tree):
        if tree.is_precise(folder, path):
            chosen[folder] = sum(chosen.pop(file) for file in files)
            reasons[folder] = {why: None for file in files for why in reasons[file]}
    kept = [place for place in chosen if not any(place != one and place.startswith(one) for one in chosen)]
    kept.sort(key=lambda place: (-chosen[place], place))
    return [(_pattern(place), ", ".join([*reasons[place]][:_FEW])) for place in kept[:_MOST]]


def _pattern(place: str) -> str:
    return f"{place}**" if place.endswith("/") else place if "/" in place else f"/{place}"


def _shared_folders(chosen: Collection[str], tree: Tree) -> Sequence[tuple[str, Sequence[str]]]:
    """Return folders with their chosen files: two that are at least half of all, or more that are a quarter."""
    by_folder: dict[str, list[str]] = defaultdict(list)
    for file in chosen:
        by_folder[file[: file.rfind("/") + 1]].append(file)
    sizes = ((folder, files, len(files)) for folder, files in by_folder.items() if folder not in files)
    return [
        (at, files) for at, files, size in sizes if size > 1 and size * min(size, 4) >= tree.folders.get(at, size**2)
    ]


def _named_paths(decision: Decision, tree: Tree) -> _Evidence:
    for name in dict.fromkeys((*named_paths(decision), *_URL.findall(decision.text))):
        found = tree.find(name[name.rfind("./") + 2 :] if name.startswith(".") else name)
        yield from ((place, _PATH_POINTS, name) for place in found if len(found) == 1)


def _named_code(decision: Decision, title: AbstractSet[str], tree: Tree) -> _Evidence:
    """Yield files with a name in the text, or a definition of it: a composed name, or one in the title and in code."""
    in_code = Counter(name for code in _CODE.findall(decision.text) for name in _NAME.findall(code))
    names = in_code + Counter(_NAME.findall(f"{decision.title}\n{decision.text}"))
    for name, count in names.most_common(_MOST_NAMES):
        if (composed := _COMPOSED.search(name)) or (in_code[name] > 1 and title & _words(name)):
            others = (name, name.replace(".", "/"), *(name.split(".")[:1] if name[0].isupper() else ()))
            found = next(filter(None, map(tree.find, others)), composed and tree.defined.get(name)) or ()
            yield from ((place, min(count, _PATH_POINTS), name) for place in found if len(found) == 1)


def _changed(path: str, tree: Tree, commits: Sequence[Commit]) -> _Evidence:
    """Yield the files of small commits: of the one that adds the decision's file, and of those that cite its number."""
    number = str(file_name(path).number)
    adding = next((hash for hash, _, files in reversed(commits) if path in files), None)
    for hash, message, files in commits:
        if hash == adding or number in _CITED.findall(message):
            code = [file for file in files if file in tree.places and not _TEST.search(file)]
            yield from ((file, _COMMIT_POINTS, f"commit {hash}") for file in code if len(code) <= _LARGEST_COMMIT)
