#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/command_tree.h"
#include "costmodel/units/quantity.h"
#include "presets/scenario/preset_memory.h"
#include "presets/scenario/scenario_request.h"
#include "presets/weights/stored_type.h"
#include "validator/executor/optimizer/optimizer_step.h"

namespace hexaplan::cli {

enum class Colour : std::uint8_t { Auto, Always, Never };

/// Options of every command.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  Colour colour = Colour::Auto;
  std::string output;  // empty = stdout
};

/// The question as typed; empty = not given.
struct ScenarioOptions {
  std::string model, cluster, layout, schedule, framework, calibration, fabric, price;
  /// A recipe field given on the command line: key of the scenario file, flag, text (empty = not given).
  struct RecipeFlag {
    std::string key, flag, text;
  };
  std::vector<RecipeFlag> recipe;
  std::string scenario, save_scenario;
  std::vector<std::string> from;  // launch files
  /// The question from memory instead of a file; flags override it. Not given on any command line.
  std::optional<presets::ScenarioRequest> request;
  /// Of callers with many questions; null: every question reads its presets.
  std::shared_ptr<presets::PresetMemory> memory;
};

struct EstimateOptions {
  ScenarioOptions question;
  bool suggest =
      true;  // EstimateReport::changes; false: the caller asks suggest_changes() when it needs them
  bool explain = false;
  bool require_fit = false;
  std::string allocator;        // words of PYTORCH_CUDA_ALLOC_CONF, "default"; empty: not asked for
  std::string memory_snapshot;  // file to write; empty: none
};

struct SimulateOptions {
  ScenarioOptions question;
  std::string trace, gantt_svg, memory_svg;  // files to write; empty = none
};

struct PresetsOptions {
  bool show = false;   // else list
  bool names = false;  // of one kind alone, a line each
  std::string kind, name;
};

struct AccuracyOptions {
  std::vector<std::string> tables;
  bool rows = false, few_shot = false;
  int worst = 10;
};

/// The history of runs: SQLite, docs/validation.md.
struct StoreOptions {
  std::string file;  // empty = the user's
  bool off = false;
};

/// How the processes of a job find each other, where no launcher says it, and how long they wait.
struct JobOptions {
  std::optional<int> rank, world;
  std::string master;
  costmodel::Seconds timeout{120};
  std::string run = "run";  // RankOptions::run; of no flag
};

struct ExecuteOptions {
  ScenarioOptions question;
  std::int64_t steps = 1, warm_up = 0;
  std::string device = "cpu", dtype, ranks = "threads";
  std::string report, save, load, token_file;       // empty = not given
  std::string weights, save_weights;                // folders in Hugging Face's layout; empty = not given
  std::optional<presets::StoredType> weights_type;  // of save_weights; nothing = as the device computes
  std::int64_t save_every = 0;                      // steps; 0: after the last one
  std::int64_t memory_limit = 0;                    // bytes per rank; 0 = none
  JobOptions job;
  std::uint64_t seed = 1;
  validator::LearningRate learning_rate;  // total_steps 0: as many as are run
  validator::OptimizerOptions optimizer;
  std::vector<std::string> optimizer_flags;  // of its numbers, those that were typed
  bool shuffle = false;                      // of the token file's sequences
  bool shrink = false, timeline = false;
  StoreOptions store;
  bool noise = false;  // parameters of noise instead of the model's initial values: for times and bytes alone
  int solo_rank = 0;   // of --ranks solo
  int gpus = 0;        // of this process, with --ranks nccl; 0 = as many as it needs
  int threads = 0;     // of a rank on the host; 0 = its share of the processors
};

struct BackendsOptions {};
/// One dimension of the search space as typed: flag and list ("--tp", "1,2,4..8"); empty text = not
/// restricted.
struct DimensionText {
  std::string flag, text;
};

struct SearchOptions {
  ScenarioOptions question;
  std::string html;  // a page of the plans; empty: none
  std::vector<DimensionText> dimensions;
  std::string gpus, gpu_types;             // lists
  std::string network;                     // between the nodes, as after "+" of a cluster
  std::string replicas;                    // that train apart
  std::string batch_tolerance, idle_gpus;  // shares
  std::string sweep;                       // axes: "seq=4k..128k,gpus=64..4096"
  std::string objective, rank_by, max_memory, max_risk, max_hours, max_cost, min_mfu, top, threads, explain;
  bool no_refine = false, no_simulate = false, csv = false, markdown = false, sensitivity = false;
};

/// A page of one plan, of several side by side, or with what a search finds around it.
struct ReportOptions {
  ScenarioOptions question;
  std::vector<std::string> sides;  // scenario files, or layouts of the question; empty: the question
  std::string html;                // the file to write
  std::string max_risk, top;       // of the search
  bool search = false, no_simulate = false;
};

struct FinetuneOptions {
  ScenarioOptions question;
  std::string gpu, gpus, max_risk;  // empty = not given
};

/// Several models and a rollout engine on the same GPUs.
struct PostTrainOptions {
  ScenarioOptions question;  // of the actor
  /// What was typed, by position in presets::post_training_fields() and presets::model_flags().
  std::vector<std::string> words, models;
  bool require_fit = false;
};

struct CompareOptions {
  ScenarioOptions question;
  std::vector<std::string> sides;  // scenario files, or layouts of the question
  bool csv = false, markdown = false;
};

struct ExportOptions {
  ScenarioOptions question;
  std::string target;  // whose file; empty: the framework's own
  std::string wrap;    // one of kStarterNames: a script that starts it; empty: the configuration alone
};

/// A cluster's file from what its machines say of themselves.
struct ClusterOptions {
  std::vector<std::string> files;
  std::string title;
  std::string gpu;    // empty: as the files say
  std::string nodes;  // empty: as the files say, or 1
};

struct DiffOptions {
  ScenarioOptions question;
  std::vector<std::string> files;
  bool suggest = false;
};

struct ImportOptions {
  ScenarioOptions question;
  std::vector<std::string> files;
};

struct MeasureOptions {
  ScenarioOptions question;
  std::vector<std::string> files;
  bool as_row = false;  // a CSV table for `accuracy` instead of text
};

struct ValidateOptions {
  ScenarioOptions question;
  std::vector<std::string> scenarios;  // files
  std::string list, gpu, html;         // empty = not given
  std::string device = "cpu", dtype;
  std::string ranks;  // empty: ranks_of
  int top = 0, steps = 10, warm_up = 3;
  int gpus = 0;                   // that plans are for; 0 = all that are here
  int budget = 0;                 // seconds; 0 = none
  std::int64_t memory_limit = 0;  // bytes per rank; 0 = none
  bool solo = false, terms = false, csv = false, markdown = false;
  StoreOptions store;
  JobOptions job;
};

/// What to do with the history.
enum class HistoryUse : std::uint8_t { List, Show, Compare, Export };
struct RunsOptions {
  HistoryUse use = HistoryUse::List;
  std::vector<std::int64_t> ids;
  std::string kind;  // "run", "validate"; empty = all
  StoreOptions store;
};

struct VerifyOptions {
  ScenarioOptions question;
  int random = 0;  // layouts; 0 = the scenario
  int seed = 1;
  bool whole = false;     // the scenario as it is, not shrunk
  bool coverage = false;  // only say what the random layouts hold
  bool first = false;     // stop at the first random layout that differs
};

/// A step of the framework itself beside its prediction.
struct OracleOptions {
  ScenarioOptions question;
  std::string python, save;  // empty = not given
  costmodel::Seconds timeout{600};
};

struct CalibrateOptions {
  bool quick = false, again = false;
  std::string device = "cpu", ranks, gpu, out, store;  // empty = not given
  int gpus = 0;                                        // ranks of collectives; 0 = not given
  costmodel::Seconds budget;                           // 0 = not given
  std::vector<std::string> from;                       // files of nccl-tests instead of measuring
  std::string cluster;                                 // that they ran on, or that is measured
  std::vector<std::string> from_runs;                  // tables or logs of runs instead of measuring
  std::string calibration;                             // … that they are held against; empty: the GPU's
  JobOptions job;
};

/// Text that is made from the command tree itself: help, version, completion, man.
struct PrintText {
  std::string text;
};

using Command =
    std::variant<EstimateOptions, SimulateOptions, SearchOptions, FinetuneOptions, PostTrainOptions,
                 CompareOptions, ExportOptions, ImportOptions, ClusterOptions, DiffOptions, ReportOptions,
                 PresetsOptions, AccuracyOptions, ExecuteOptions, VerifyOptions, ValidateOptions,
                 MeasureOptions, RunsOptions, BackendsOptions, CalibrateOptions, OracleOptions, PrintText>;
struct Invocation {
  CommonOptions common;
  Command command;
};

/// The command line cannot be understood; one line for a person.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws UsageError, naming the nearest option or command.
[[nodiscard]] Invocation parse_command_line(int argc, const char* const* argv);

}  // namespace hexaplan::cli
