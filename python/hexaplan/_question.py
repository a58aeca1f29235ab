"""What a call asks, as the library takes it: options of the command by flag, and a scenario in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ._core import Error, read_scenario

_SCHEMA = "hexaplan/scenario/1"
_MODELS = (
    "a preset, a config.json or its folder, a configuration as a dictionary or of transformers, "
    "or a torch module that has one (.config)"
)


@lru_cache(maxsize=None)
def flag_of(word: str) -> str:
    """global_batch -> --global-batch; from_ -> --from, which Python keeps for itself."""
    return "--" + word.rstrip("_").replace("_", "-")


def plain(value: Any) -> Any:
    """Paths as text, also in lists."""
    if type(value) in (str, int, float, bool):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(each) for each in value]
    return value


def config_of(model: Any) -> dict[str, Any]:
    """The configuration of a model, as config.json has it."""
    config = model if isinstance(model, Mapping) else getattr(model, "config", model)
    if isinstance(config, Mapping):
        return dict(config)
    if hasattr(config, "to_json_string"):  # transformers: only this writes types of torch as text
        return json.loads(config.to_json_string(use_diff=False))
    if hasattr(config, "to_dict"):
        return dict(config.to_dict())
    raise Error(f"model: got a {type(model).__name__}, expected {_MODELS}")


def scenario_of(scenario: Any) -> dict[str, Any]:
    """A scenario in memory: a dictionary, or an answer that holds one (an estimate, a plan, an imported configuration)."""
    said = scenario if isinstance(scenario, Mapping) else getattr(scenario, "scenario", None)
    if not isinstance(said, Mapping):
        raise Error(
            f"scenario: got a {type(scenario).__name__}, expected a file, a dictionary, or an answer with a scenario"
        )
    return {"schema": _SCHEMA, **said}


def asked(words: Mapping[str, Any], scenario: Any = None, **parts: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Options and scenario of a call. Parts (model, cluster, layout) that are text are options; objects go into the scenario."""
    options = {flag_of(word): plain(value) for word, value in words.items() if value is not None}
    objects: dict[str, Any] = {}
    for part, value in parts.items():
        if value is None:
            continue
        if isinstance(value, (str, os.PathLike)):
            options["--" + part] = os.fspath(value)
        else:
            objects[part] = config_of(value) if part == "model" else value
    if isinstance(scenario, (str, os.PathLike)):
        if not objects:
            options["--scenario"] = os.fspath(scenario)
            return options, None
        scenario = read_scenario(os.fspath(scenario))
    if scenario is None and not objects:
        return options, None
    return options, {**(scenario_of({} if scenario is None else scenario)), **objects}
