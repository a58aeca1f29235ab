"""Memory and step time of training large transformers: does it fit, how fast is it, which layout is best.

    import hexaplan
    hexaplan.estimate("llama-3.1-8b", "16xH100", "tp2 pp2 zero1 sp", seq=8192, global_batch=64)

Words are those of the command `hexaplan`, with '_' for '-': `global_batch=64` is `--global-batch 64`. Every function raises
`Error`, a ValueError, when its question cannot be used. A layout that cannot run or does not fit is an answer.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Error
from ._question import asked, plain
from ._results import (
    Accuracy,
    Change,
    Comparison,
    Estimate,
    ImportedConfig,
    ImportedSetting,
    Memory,
    Plan,
    RankedPlan,
    Rejection,
    Search,
    Side,
    Simulation,
    Stage,
    Time,
    _record,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._words import CompareWords, EstimateWords, ImportWords, SearchWords, SimulateWords

__version__: str = _core.version.split(" ")[0]
__all__ = [
    "Accuracy",
    "Change",
    "Comparison",
    "Error",
    "Estimate",
    "ImportedConfig",
    "ImportedSetting",
    "Memory",
    "Plan",
    "RankedPlan",
    "Rejection",
    "Search",
    "Side",
    "Simulation",
    "Stage",
    "Time",
    "accuracy",
    "compare",
    "estimate",
    "import_config",
    "search",
    "simulate",
]


def estimate(
    model: Any = None, cluster: Any = None, layout: Any = None, *, scenario: Any = None, **words: Unpack[EstimateWords]
) -> Estimate:
    """Memory and step time of one layout.

    `model`: a preset, a config.json, its folder, a name on the hub, dimensions ("layers=8 hidden=512 …"), a configuration
    as a dictionary or of transformers, or a torch module that has one, also on the meta device. `cluster`: "64xH100" or a
    dictionary; `layout`: "tp8 pp4 zero1 sp" or a dictionary. `scenario`: a file, a dictionary, or an answer that holds one;
    everything else is put on top of it.
    """
    return Estimate(_core.estimate(*asked(words, scenario, model=model, cluster=cluster, layout=layout)))


def simulate(
    model: Any = None, cluster: Any = None, layout: Any = None, *, scenario: Any = None, **words: Unpack[SimulateWords]
) -> Simulation:
    """One step as a timeline: who waits for whom, memory over time. The question is that of `estimate`."""
    return Simulation(_core.simulate(*asked(words, scenario, model=model, cluster=cluster, layout=layout)))


def search(model: Any = None, cluster: Any = None, *, scenario: Any = None, **words: Unpack[SearchWords]) -> Search:
    """The best layouts of the whole space, exactly; dimensions take lists: `tp=[1, 2, 4]`, `pp="1..16"`."""
    return Search(_core.search(*asked(words, scenario, model=model, cluster=cluster)))


def compare(
    *sides: Any, model: Any = None, cluster: Any = None, scenario: Any = None, **words: Unpack[CompareWords]
) -> Comparison:
    """Two or more plans side by side: layouts of one question ("tp2", "tp4 sp"), or scenario files; or estimates, plans and
    scenarios in memory, with the words on top of each."""
    if all(isinstance(side, (str, os.PathLike)) for side in sides):
        options, document = asked(words, scenario, model=model, cluster=cluster)
        return Comparison(_core.compare({"sides": plain(sides), **options}, document))
    if len(sides) < 2 or any(isinstance(side, (str, os.PathLike)) for side in sides):
        raise Error("compare: expected two or more layouts and scenario files, or two or more estimates, plans and scenarios")
    if scenario is not None:
        raise Error("compare: scenario and sides that are scenarios each say the whole question; give one of them")
    on_top = {**words, "model": model, "cluster": cluster}
    changed = any(value is not None for value in on_top.values())
    estimates = [
        side if isinstance(side, Estimate) and not changed else estimate(scenario=side, **on_top)
        for side in sides
    ]
    names = [f"{i}: {each.scenario['layout']}" for i, each in enumerate(estimates, 1)]
    return Comparison(_core.compare_answers(names, [each._live() for each in estimates]))


def import_config(*files: str | os.PathLike[str], cluster: Any = None, model: Any = None, **words: Unpack[ImportWords]) -> ImportedConfig:
    """Launch scripts and configurations of frameworks as a scenario, with what became of every line. `cluster` may be a GPU
    type alone."""
    for part, value in (("cluster", cluster), ("model", model)):
        if value is not None and not isinstance(value, (str, os.PathLike)):
            raise Error(f"import_config: {part}: got a {type(value).__name__}, expected text; put it on top of the imported scenario")
    options, document = asked(words, model=model, cluster=cluster)
    return _record(ImportedConfig, _core.import_config({"files": plain(files), **options}, document))


def accuracy(*tables: str | os.PathLike[str]) -> Accuracy:
    """Predicts every row of tables of published measurements and scores the predictions (docs/accuracy.md)."""
    return Accuracy(_core.accuracy({"tables": plain(tables)}, None))
