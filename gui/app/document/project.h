#pragma once
#include <QByteArray>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <vector>

#include "gui/app/document/evaluation.h"
#include "gui/app/jobs/measurements.h"
#include "gui/app/jobs/search_job.h"
#include "presets/json/read_json.h"

namespace hexaplan::gui {

/// A state that was kept for comparison. Not priced where a file keeps one that this machine cannot price.
struct PinnedState {
  QString name;
  EvaluationPtr evaluation;
};

/// What the present state is compared with.
struct Comparison {
  EvaluationPtr baseline;  // null: none
  std::vector<PinnedState> pins;
  /// The same questions are compared.
  friend bool operator==(const Comparison& a, const Comparison& b);
};

/// Everything of a window that is work: what its file holds.
struct Project {
  presets::ScenarioRequest request;
  QString notes;  // the user's own words
  Comparison compared;
  std::vector<SearchResultPtr> searches;  // oldest first
  std::vector<MeasuredFilePtr> measured;  // oldest first
  QStringList traces;                     // absolute paths
  friend bool operator==(const Project&, const Project&) = default;
};

/// What a file can hold.
enum class SavedAs : std::uint8_t {
  Scenario,  // the question alone: the command line's file
  Project,   // all
};

// hexaplan/project/1 (docs/json.md). `folder`: of the file; traces below it are named from there.

/// `answer`: the question's, with which gaps are filled; one of another question is not used.
[[nodiscard]] presets::JsonValue toJson(const Project& project, const Evaluation& answer,
                                        const QString& folder);
/// Prices baseline, pins and listed plans anew. InputError when something is not understood.
[[nodiscard]] Project readProject(const presets::JsonDocument& document, const QString& folder);

/// What a window would lose with a crash.
struct Session {
  Project project;
  QString path;  // of its file; empty: none
  SavedAs saved_as = SavedAs::Scenario;
};

/// hexaplan/recovery/2: the session as a file that only this program reads. The question stands as it was
/// asked: its gaps stay, and nothing is looked up.
[[nodiscard]] QByteArray toText(const Session& session);
/// Reads what `toText` writes and what earlier versions left. InputError otherwise.
[[nodiscard]] Session readSession(const QString& path);

}  // namespace hexaplan::gui
