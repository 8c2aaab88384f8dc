"""The site runs on what requirements.txt installs. The tests have more, which could hide a gap."""

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version

import pytest
from packaging.requirements import Requirement

from naiply.local import PROJECT_FOLDER
from tests.mode import bare_environment

# What a process of the site imports sooner or later, both with Redis and without.
IMPORTS = """
import json, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))  # None: "there is no such module"
import django, naiply.asgi, naiply.processes, naiply.development
import django.core.cache.backends.redis, kombu.transport.filesystem, kombu.transport.redis
import whitenoise.storage, celery.beat, celery.concurrency.prefork, celery.bin.worker
import uvicorn.protocols.http.httptools_impl, uvicorn.loops.uvloop
from django.urls import get_resolver
get_resolver().url_patterns
"""


def pinned(file_name):
    lines = (PROJECT_FOLDER / file_name).read_text().splitlines()
    texts = [line.partition("#")[0].strip() for line in lines]
    return [Requirement(text) for text in texts if text and not text.startswith("-r")]


def with_what_they_require(requirements):
    """The names of the requirements, of theirs, and so on."""
    names = set()
    waiting = [(requirement.name, requirement.extras or {""}) for requirement in requirements]
    while waiting:
        name, extras = waiting.pop()
        name = normalised(name)
        names.add(name)
        try:
            texts = requires(name) or []
        except PackageNotFoundError:
            continue  # for another platform or Python
        for inner in map(Requirement, texts):
            is_wanted = any(
                not inner.marker or inner.marker.evaluate({"extra": extra})
                for extra in {*extras, ""}
            )
            if is_wanted and (normalised(inner.name) not in names or inner.extras):
                waiting.append((inner.name, inner.extras or {""}))
    return names


def normalised(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def import_without(modules, folder):
    return subprocess.run(
        [sys.executable, "-c", IMPORTS, json.dumps(modules)],
        cwd=PROJECT_FOLDER,
        env=bare_environment()
        | {"NAIPLY_LOCAL_FOLDER": str(folder), "DJANGO_SETTINGS_MODULE": "naiply.settings"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_site_imports_only_what_requirements_txt_installs(tmp_path):
    installed = with_what_they_require(pinned("requirements.txt"))
    absent = [
        module
        for module, distributions in packages_distributions().items()
        if installed.isdisjoint(map(normalised, distributions))
    ]

    result = import_without(absent, tmp_path)

    assert {"pytest", "babel", "playwright"} <= set(absent)
    assert (result.returncode, result.stderr) == (0, "")


def test_module_that_is_missing_would_be_noticed(tmp_path):
    result = import_without(["packaging"], tmp_path)

    assert re.search("ModuleNotFoundError.*packaging", result.stderr)


@pytest.mark.parametrize("file_name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned_and_installed_as_pinned(file_name):
    for requirement in pinned(file_name):
        assert str(requirement.specifier) == f"=={version(requirement.name)}", requirement


@pytest.mark.parametrize("file_name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_says_what_for(file_name):
    for line in (PROJECT_FOLDER / file_name).read_text().splitlines():
        assert line.startswith(("#", "-r ")) or re.search(r"\S  +# \S|\S # \S", line), line
