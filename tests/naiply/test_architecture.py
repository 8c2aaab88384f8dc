"""The dependencies between the rooms of the house point down only.

Read from the source with ast, so that an import inside a function counts too, and one that never
runs in a test.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from naiply.local import PROJECT_FOLDER

ROOMS = ("ratings", "leaderboards", "naiply")

# What each room may not import. The first that fits counts, so the innermost comes first.
FORBIDDEN = {
    "ratings/systems": ("ratings", "leaderboards", "naiply", "django", "celery", "psycopg"),
    "ratings": ("leaderboards", "naiply"),
    "leaderboards": ("naiply",),
}
# Inside a room that is forbidden as a whole.
ALLOWED = {"ratings/systems": ("ratings.systems",)}

# Imports inside a function: where, and why it cannot stand at the top.
ALLOWED_INSIDE_FUNCTIONS: dict[str, str] = {}


def python_files(folder: Path) -> list[Path]:
    return sorted(path for room in ROOMS for path in (folder / room).rglob("*.py"))


def imported_modules(tree: ast.AST, package: str) -> Iterator[str]:
    """Every module that the source names in an import; relative ones as absolute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: -node.level + 1 or None] if node.level else []
            module = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def is_within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


def upward_imports(folder: Path) -> list[str]:
    """A line for every import that turns an arrow round."""
    found = []
    for path in python_files(folder):
        place = path.relative_to(folder)
        room = next((room for room in FORBIDDEN if place.is_relative_to(room)), None)
        if room is None:
            continue
        package = ".".join(place.parent.parts)
        for module in imported_modules(ast.parse(path.read_text()), package):
            if is_within(module, FORBIDDEN[room]) and not is_within(module, ALLOWED.get(room, ())):
                found.append(f"{place} imports {module}")
    return found


def imports_inside_functions(folder: Path) -> list[str]:
    found = []
    for path in python_files(folder):
        place = str(path.relative_to(folder))
        functions = [
            node
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        for function in functions:
            if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function)):
                found.append(f"{place}: {function.name}")
    return found


def test_no_import_points_up():
    assert upward_imports(PROJECT_FOLDER) == []


def test_no_import_stands_inside_a_function():
    assert imports_inside_functions(PROJECT_FOLDER) == sorted(ALLOWED_INSIDE_FUNCTIONS)


def test_every_room_is_read():
    read = {path.relative_to(PROJECT_FOLDER).parts[0] for path in python_files(PROJECT_FOLDER)}

    assert read == set(ROOMS)


@pytest.mark.parametrize(
    ("place", "source", "found"),
    [
        ("ratings/systems/elo.py", "import django.conf", "django.conf"),
        ("ratings/systems/elo.py", "from ratings import models", "ratings.models"),
        ("ratings/systems/elo.py", "from ratings.models import Game", "ratings.models.Game"),
        ("ratings/systems/elo.py", "from .. import models", "ratings.models"),
        ("ratings/systems/elo.py", "from ..models import Game", "ratings.models.Game"),
        (
            "ratings/recording.py",
            "from leaderboards.views import board",
            "leaderboards.views.board",
        ),
        ("ratings/recording.py", "def f():\n    from naiply import settings", "naiply.settings"),
        ("ratings/admin/game.py", "import naiply", "naiply"),
        ("leaderboards/urls.py", "if True:\n    import naiply.celery", "naiply.celery"),
    ],
)
def test_import_that_points_up_is_found(tmp_path, place, source, found):
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(source)

    assert upward_imports(tmp_path) == [f"{place} imports {found}"]


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("ratings/systems/replay.py", "from ratings.systems import elo\nfrom . import decay"),
        ("ratings/recording.py", "from ratings.systems import elo\nimport django, ratings_x"),
        ("leaderboards/urls.py", "from ratings import standings\nfrom . import views"),
        ("naiply/urls.py", "import leaderboards.urls\nimport ratings.models"),
    ],
)
def test_import_that_points_down_is_fine(tmp_path, place, source):
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(source)

    assert upward_imports(tmp_path) == []


def test_import_inside_a_function_is_found(tmp_path):
    (tmp_path / "ratings").mkdir()
    source = "import os\nclass A:\n    import io\n    async def late(self):\n        import sys\n"
    (tmp_path / "ratings" / "tasks.py").write_text(source)

    assert imports_inside_functions(tmp_path) == ["ratings/tasks.py: late"]
