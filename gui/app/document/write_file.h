#pragma once
#include <QByteArray>
#include <QString>

namespace hexaplan::gui {

/// Puts `content` in place of what is at `path`, whole or not at all. Returns what went wrong; empty:
/// nothing.
[[nodiscard]] QString writeFile(const QString& path, const QByteArray& content);

}  // namespace hexaplan::gui
