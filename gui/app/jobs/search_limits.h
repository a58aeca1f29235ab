#pragma once
#include <QString>
#include <QStringList>

#include "gui/app/document/evaluation.h"
#include "planner/problem/problem.h"

namespace hexaplan::gui {

/// Narrows `problem`, a search around `asked`, by what is typed in the words of `hexaplan search`, without
/// their dashes: "tp=8 cp=1,2 recompute=none max-hours=72". The command's own options read them
/// (cli/options/search.cpp). InputError for a word that is none, for a value that cannot be read, and for
/// what is said elsewhere in the window.
void narrow(planner::SearchProblem& problem, const Evaluation& asked, const QString& words);

/// The words that `narrow` knows, each with its help, for a tool-tip.
[[nodiscard]] QStringList limitWords();

}  // namespace hexaplan::gui
