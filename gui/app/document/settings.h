#pragma once
#include <QString>
#include <QStringList>

namespace hexaplan::gui {

// What the application remembers between runs. Files are in the C locale, whatever the window speaks.

[[nodiscard]] QStringList recentFiles();
/// Puts `path` first.
void rememberFile(const QString& path);
void forgetFiles();

/// Where the scenario is kept while it is unsaved, for a crash; the folder exists.
[[nodiscard]] QString recoveryPath();

}  // namespace hexaplan::gui
