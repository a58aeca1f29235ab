"""Answers as dataclasses. Their fields are those of docs/json.md, in its order; `asdict` gives the command's --json back."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from . import _core

if TYPE_CHECKING:
    import pandas


@lru_cache(maxsize=None)
def _types(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _value(kind: Any, value: Any) -> Any:
    """`value` of JSON as the type that a field names."""
    if value is None:
        return None
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Union:
        return _value(arguments[0], value)
    if typing.get_origin(kind) is list:
        return [_value(arguments[0], each) for each in value]
    if typing.get_origin(kind) is dict:
        return {key: _value(arguments[1], each) for key, each in value.items()}
    return _record(kind, value) if dataclasses.is_dataclass(kind) else value


def _names(cls: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(cls)]


def _fields(cls: Any, json: dict[str, Any]) -> dict[str, Any]:
    types = _types(cls)
    return {name: _value(types[name], json.get(name)) for name in _names(cls)}


def _record(cls: Any, json: dict[str, Any]) -> Any:
    return cls(**_fields(cls, json))


def _frame(rows: list[dict[str, Any]], index: str | None = None) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("to_frame() needs pandas: pip install pandas") from missing
    frame = pandas.json_normalize(rows)
    return frame.set_index(index) if index is not None and index in frame else frame


class _Answer:
    """An answer of the library. Fields are made when the first of them is read; text and pictures are drawn when asked for."""

    def __init__(self, answer: Any) -> None:
        self.__dict__["_answer"] = answer

    if not TYPE_CHECKING:  # which knows the fields and nothing else

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name not in _names(type(self)):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.__dict__.update(_fields(type(self), self.__dict__["_answer"].json()))
            return self.__dict__[name]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _names(type(self))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def json(self) -> dict[str, Any]:
        """What the command prints with --json."""
        return self._live().json()

    def _live(self) -> Any:
        answer = self.__dict__.get("_answer")
        if answer is None:
            raise _core.Error("this answer was copied by its fields: ask again for its text and pictures")
        return answer


class _Shown(_Answer):
    """An answer with pictures."""

    def report_html(self) -> str:
        """A page that needs nothing beside itself: the text of `hexaplan report --html`."""
        return self._live().page()

    def _repr_html_(self) -> str:
        return self._live().display()


@dataclass(frozen=True)
class NotModelled:
    knob: str
    effect: str


@dataclass(frozen=True)
class Change:
    change: str
    peak_bytes: int
    step_seconds: float
    out_of_memory_probability: float
    not_modelled: List[NotModelled]


@dataclass(frozen=True)
class Rejection:
    rule: str
    reason: str
    advice: str
    changes_that_fit: List[Change]


@dataclass(frozen=True)
class Stage:
    """Bytes of a pipeline stage's worst rank."""

    stage: int
    layers: int
    microbatches_in_flight: float
    parameters: int
    gradients: int
    optimizer: int
    activations: int
    logits: int
    transient: int
    communication: int
    overhead: int
    cached: int
    peak: int
    peak_instant: str
    allocated: int
    reserved: int
    needed: int
    idle: int
    host: int
    disk: int


@dataclass(frozen=True)
class Memory:
    peak_bytes: int
    needed_bytes: int
    capacity_bytes: int
    peak_stage: int
    interval_bytes: List[int]
    out_of_memory_probability: float
    host_bytes_per_node: int
    disk_bytes_per_node: int
    stages: List[Stage]


@dataclass(frozen=True)
class Time:
    step_seconds: float
    interval_seconds: List[float]
    by_cause: Dict[str, float]


@dataclass(frozen=True)
class Throughput:
    tokens_per_second: float
    tokens_per_second_per_gpu: float
    model_tflops_per_gpu: float
    mfu: float
    hfu: float
    mfu_full_attention: float
    convention: str


@dataclass(frozen=True)
class Goodput:
    share: float
    checkpointing: float
    repeating: float
    restarting: float
    waiting: float
    mtbf_seconds: float
    restart_seconds: float
    enough_spare_nodes: int


@dataclass(frozen=True)
class Checkpoint:
    bytes: int
    seconds: float
    stall_seconds: float
    interval_seconds: float
    best_interval_seconds: float


@dataclass(frozen=True)
class Training:
    tokens: int
    steps: float
    productive_seconds: float
    wall_seconds: Optional[float]
    wall_interval_seconds: List[float]
    gpu_hours: Optional[float]
    dollars: Optional[float]
    kilowatt_hours: Optional[float]
    failures: float
    goodput: Goodput
    checkpoint: Checkpoint
    assumed: List[str]


@dataclass(frozen=True)
class PublishedRun:
    """A published run near the question; `error` is predicted/measured - 1."""

    id: str
    source: str
    model: str
    gpu: str
    gpus: int
    framework: str
    layout: str
    runs: int
    measured_seconds: float
    predicted_seconds: float
    error: float
    tokens_per_second_per_gpu: float
    predicted_tokens_per_second_per_gpu: float
    distance: float


@dataclass(frozen=True)
class TechniqueSupport:
    technique: str
    runs: int
    configurations: int
    sources: int
    runs_on_gpu: int


@dataclass(frozen=True)
class PublishedEvidence:
    """On which published runs an answer rests; zeros: nobody is known to have published one."""

    nearest: List[PublishedRun]
    techniques: List[TechniqueSupport]
    runs_on_gpu: int
    runs_with_framework: int


@dataclass(frozen=True, init=False, repr=False)
class Estimate(_Shown):
    """Memory and step time of one layout."""

    schema: str
    fits: bool
    rejection: Optional[Rejection]
    safer_changes: Optional[List[Change]]
    memory: Optional[Memory]
    time: Optional[Time]
    throughput: Optional[Throughput]
    training: Optional[Training]
    parameters: int
    microbatches: int
    gpus: int
    calibration: Dict[str, Any]
    scenario: Dict[str, Any]
    not_modelled: List[NotModelled]
    evidence: Optional[PublishedEvidence]
    notes: List[str]
    explanation: Optional[Dict[str, Any]]

    # Read without making the fields: what a loop over many layouts looks at.
    @property
    def step_seconds(self) -> float:
        """Of one optimizer step; NaN when a rule rejected the layout."""
        return self._live().step_seconds

    @property
    def peak_bytes(self) -> int:
        """Device memory of the worst rank at its peak; 0 when a rule rejected the layout."""
        return self._live().peak_bytes

    @property
    def out_of_memory_probability(self) -> float:
        """NaN when a rule rejected the layout."""
        return self._live().risk

    def svg(self, picture: str = "memory") -> str:
        """A picture as SVG: "memory" (by stage and kind) or "time" (by cause)."""
        return self._live().svg(picture)

    def to_frame(self) -> pandas.DataFrame:
        """A row per pipeline stage, bytes by kind."""
        return _frame([] if self.memory is None else [vars(stage) for stage in self.memory.stages], "stage")

    def __repr__(self) -> str:
        return f"Estimate(fits={self._live().fits}, step_seconds={self.step_seconds:.6g}, peak_bytes={self.peak_bytes})"


@dataclass(frozen=True)
class StageTimeline:
    stage: int
    begin_seconds: float
    seconds: Dict[str, float]
    microbatches_in_flight: float
    peak_live_bytes: int
    peak_device_bytes: int


@dataclass(frozen=True)
class CriticalPath:
    """The chain of spans that the step's length follows from: its time by kind of span."""

    stages: int
    seconds: Dict[str, float]
    waiting_seconds: float


@dataclass(frozen=True)
class SimulationRejection:
    rule: str
    reason: str
    advice: str


@dataclass(frozen=True, init=False, repr=False)
class Simulation(_Shown):
    """One step as a timeline. Where a rule rejected the layout there is `rejection`, and the figures are None."""

    schema: str
    rejection: Optional[SimulationRejection]
    step_seconds: Optional[float]
    closed_form_seconds: Optional[float]
    bubble_share: Optional[float]
    exposed_share: Optional[float]
    critical_path: Optional[CriticalPath]
    slowest_stage: Optional[int]
    peak_stage: Optional[int]
    capacity_bytes: Optional[int]
    microbatches: Optional[int]
    chunks: Optional[int]
    stages: Optional[List[StageTimeline]]
    not_modelled: List[NotModelled]
    notes: List[str]

    def svg(self, picture: str = "timeline") -> str:
        """A picture as SVG: "timeline" or "memory" (of every stage over the step)."""
        return self._live().svg(picture)

    def to_frame(self) -> pandas.DataFrame:
        """A row per pipeline stage."""
        return _frame([dataclasses.asdict(stage) for stage in self.stages or []], "stage")

    def __repr__(self) -> str:
        return f"Simulation(step_seconds={self.step_seconds}, bubble_share={self.bubble_share})"


@dataclass(frozen=True)
class Price:
    step_seconds: float
    peak_bytes: int
    capacity_bytes: int
    gpus: int
    dollars_per_step: Optional[float]
    tokens_per_second_per_gpu: float
    mfu: float
    out_of_memory_probability: float


@dataclass(frozen=True)
class Plan:
    """A layout that a search priced; `estimate(scenario=plan)` answers the rest."""

    cluster: str
    layout: str
    price: Price
    not_modelled: List[NotModelled]
    scenario: Dict[str, Any]


@dataclass(frozen=True)
class Evidence:
    technique: str
    runs: int
    configurations: int
    sources: int
    spread: Optional[float]


@dataclass(frozen=True)
class RankedPlan(Plan):
    time_by_cause: Dict[str, float]
    interval_seconds: List[float]
    out_of_memory_probability: float
    simulated_seconds: Optional[float]
    training: Optional[Training]
    p90_seconds: float
    evidence: List[Evidence]
    closed_form_seconds: float
    refined_from: Optional[Plan]


@dataclass(frozen=True)
class RejectedCandidates:
    rule: str
    candidates: int
    reason: str
    advice: str
    example: str
    nearest: List[str]


@dataclass(frozen=True)
class SearchCounts:
    enumerated: int
    rejected: int
    pruned: int
    outclassed: int
    priced: int
    feasible: int


@dataclass(frozen=True)
class Contest:
    refined: int
    simulated: int
    spread: float
    settled: bool


@dataclass(frozen=True)
class ChangedMachines:
    """The best plan with a little more of something."""

    change: str
    plan: Optional[RankedPlan]


@dataclass(frozen=True)
class UnusedTechnique:
    """What would make a listed plan faster and the space leaves out."""

    setting: str
    value: str
    plan: int
    step_seconds: float


@dataclass(frozen=True)
class FewerGpus:
    """The next smaller number of GPUs that was tried, and its fastest plan."""

    gpus: int
    plan: Optional[RankedPlan]


@dataclass(frozen=True, init=False, repr=False)
class Search(_Shown):
    """The best layouts of a space, best first."""

    schema: str
    stopped: bool
    counts: SearchCounts
    contest: Contest
    plans: List[RankedPlan]
    pareto: List[Plan]
    best_at_any_risk: Optional[Plan]
    evidence: Optional[PublishedEvidence]
    changes_that_fit: Optional[List[Change]]
    rejections: List[RejectedCandidates]
    notes: List[str]
    nothing_found: Optional[str]
    unused_techniques: List[UnusedTechnique]
    fewer_gpus: Optional[FewerGpus]
    sensitivity: Optional[List[ChangedMachines]]
    explanation: Optional[Dict[str, Any]]

    @property
    def best(self) -> RankedPlan | None:
        return self.plans[0] if self.plans else None

    def to_frame(self) -> pandas.DataFrame:
        """A row per ranked plan."""
        rows = [
            {
                "cluster": plan.cluster,
                "layout": plan.layout,
                "recompute": plan.scenario.get("recipe", {}).get("recompute"),
                "micro_batch": plan.scenario.get("recipe", {}).get("micro_batch"),
                **vars(plan.price),
                "simulated_seconds": plan.simulated_seconds,
                "p90_seconds": plan.p90_seconds,
            }
            for plan in self.plans
        ]
        return _frame(rows)

    def __repr__(self) -> str:
        best = f", best={self.best.layout!r}" if self.best else ""
        return f"Search({len(self.plans)} plans of {self.counts.enumerated} candidates{best})"


@dataclass(frozen=True)
class Side:
    name: str
    estimate: Estimate


@dataclass(frozen=True, init=False, repr=False)
class Comparison(_Shown):
    """Estimates side by side; the others are held against the first."""

    schema: str
    sides: List[Side]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in ("schema", "sides"):
                raise AttributeError(f"'Comparison' object has no attribute {name!r}")
            answer = self._live()
            names = answer.cells()[0][2:]
            self.__dict__["schema"] = "hexaplan/compare/1"
            self.__dict__["sides"] = [Side(side, Estimate(each)) for side, each in zip(names, answer.sides())]
            return self.__dict__[name]

    def to_frame(self) -> pandas.DataFrame:
        """A row per term, a column per side."""
        heads, *rows = self._live().cells()
        return _frame(
            [
                {**dict(zip(heads[:2], row)), **{side: float(cell) if cell else None for side, cell in zip(heads[2:], row[2:])}}
                for row in rows
            ],
            "term",
        )

    def __repr__(self) -> str:
        return f"Comparison({', '.join(side.name for side in self.sides)})"


@dataclass(frozen=True)
class ImportedSetting:
    """A line of a launch file; `fate` is "understood", "ignored" or "not known"."""

    file: str
    line: int
    key: str
    value: str
    fate: str
    why: Optional[str]


@dataclass(frozen=True)
class ImportedConfig:
    """Launch files as a scenario; `estimate(scenario=imported)` asks it."""

    schema: str
    framework: str
    scenario: Dict[str, Any]
    gpus: Optional[int]
    settings: List[ImportedSetting]
    notes: List[str]

    def _with_fate(self, fate: str) -> list[ImportedSetting]:
        return [setting for setting in self.settings if setting.fate == fate]

    @property
    def understood(self) -> list[ImportedSetting]:
        return self._with_fate("understood")

    @property
    def ignored(self) -> list[ImportedSetting]:
        """They move neither memory nor time."""
        return self._with_fate("ignored")

    @property
    def unknown(self) -> list[ImportedSetting]:
        """They may move something; `why` says what is known about them."""
        return self._with_fate("not known")

    def to_frame(self) -> pandas.DataFrame:
        """A row per setting."""
        return _frame([vars(setting) for setting in self.settings])


@dataclass(frozen=True)
class Errors:
    rows: int
    skipped: int
    macro_mean_abs_error: Optional[float]
    median_abs_error: Optional[float]
    worst: Optional[float]
    bias: Optional[float]


@dataclass(frozen=True)
class Families:
    rows: int
    families: int
    typical_error: Optional[float]
    within_10_percent: Optional[float]
    within_25_percent: Optional[float]
    covered_by_90_percent_interval: Optional[float]
    noise_floor: Optional[float]
    families_measured_again: int
    beyond_double: List[str]


@dataclass(frozen=True)
class OutOfMemory:
    rows: int
    skipped: int
    accuracy: Optional[float]
    false_fit: int
    false_oom: int
    brier: Optional[float]
    reliability_gap: Optional[float]


@dataclass(frozen=True)
class RankingErrors:
    groups: int
    mean_regret: Optional[float]
    median_regret: Optional[float]
    worst_regret: Optional[float]
    groups_within_5_percent: int
    mean_spearman: Optional[float]


@dataclass(frozen=True)
class SourceScores:
    source: str
    time: Errors
    families: Families
    families_with_disturbed: Families
    memory: Dict[str, Errors]
    oom: OutOfMemory
    ranking: RankingErrors


@dataclass(frozen=True, init=False, repr=False)
class Accuracy(_Answer):
    """Predictions held against published measurements."""

    schema: str
    time: Errors
    families: Families
    families_with_disturbed: Families
    memory: Dict[str, Errors]
    oom: OutOfMemory
    ranking: RankingErrors
    sources: List[SourceScores]
    rows: List[Dict[str, Any]]

    def to_frame(self) -> pandas.DataFrame:
        """A row per measured run."""
        return _frame(self.rows, "case_id")

    def __repr__(self) -> str:
        return f"Accuracy({len(self.rows)} rows, median error of the time {self.time.median_abs_error:.1%})"
