#!/usr/bin/env python3
"""What `hexaplan oracle` asks: one question as JSON on stdin, one answer as JSON on stdout.

    answer.py < question.json

The question names the script that runs the step ("steps"), the model's config.json ("config") and what the scripts' own
cases say (cases() in hugging_face.py and whole_steps.py). What is missing here is an answer as well: {"problem": …}.
This file is read by any Python 3, so that an old one is told what it lacks; nothing is installed.
"""
import json
import os
import sys

SCHEMA = "hexaplan/oracle-answer/1"
OLDEST_PYTHON = (3, 10)
# Script, and packages with the oldest version that has what the script calls. The newest that were run: requirements.txt.
SCRIPTS = {
    "transformers": ("hugging_face", {"torch": (2, 6), "transformers": (4, 56)}),
    "fully_shard": ("whole_steps", {"torch": (2, 6)}),
    "ddp": ("whole_steps", {"torch": (2, 6)}),
}
ADAPTERS = {"peft": (0, 13)}


def text_of(version):
    return ".".join(str(part) for part in version)


def numbers_of(version):
    """(2, 15) of "2.15.0+cu132"."""
    return tuple(int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit())


def problem_of_python():
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return None
    return dict(what="Python %s" % text_of(sys.version_info[:3]), expected="Python %s or newer" % text_of(OLDEST_PYTHON),
                hint="name another one: --python PATH")


def versions_of(packages):
    """({package: version}, the first problem or None)"""
    from importlib.metadata import PackageNotFoundError, version
    found = {"python": text_of(sys.version_info[:3])}
    for package, oldest in packages.items():
        install = "%s -m pip install '%s>=%s'" % (sys.executable, package, text_of(oldest))
        try:
            installed = version(package)
        except PackageNotFoundError:
            installed = None
        if not installed:  # not there, or without a version of its own
            return found, dict(what="no package %s" % package, expected="%s %s or newer" % (package, text_of(oldest)),
                               hint="install it (%s) or name a Python that has it: --python PATH" % install)
        found[package] = installed
        if numbers_of(installed) < oldest:
            return found, dict(what="%s %s" % (package, installed),
                               expected="%s %s or newer" % (package, text_of(oldest)),
                               hint="update it (%s) or name another Python: --python PATH" % install)
    return found, None


def told(stage):
    """Stages are lines on stderr, which Hexaplan shows while it waits."""
    sys.stderr.write("stage: %s\n" % stage)
    sys.stderr.flush()


def answer_to(question):
    script, packages = SCRIPTS[question["steps"]]
    packages = dict(packages, **(ADAPTERS if question.get("adapters") else {}))
    problem = problem_of_python()
    versions = {}
    if not problem:
        versions, problem = versions_of(packages)
    if problem:
        return dict(problem=problem)
    import importlib
    import warnings
    warnings.filterwarnings("ignore")
    told("import of %s" % ", ".join("%s %s" % item for item in versions.items()))
    return dict(importlib.import_module(script).answer(question, told), versions=versions)


def main():
    out = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no part of the answer
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    answer = dict(schema=SCHEMA, **answer_to(json.load(sys.stdin)))
    with os.fdopen(out, "w") as stream:
        json.dump(answer, stream)


if __name__ == "__main__":
    main()
