#include "gui/app/document/settings.h"

#include <QDir>
#include <QFileInfo>
#include <QSettings>
#include <QStandardPaths>

namespace hexaplan::gui {
namespace {

constexpr const char* kRecent = "recentFiles";
constexpr int kMostRecent = 10;

}  // namespace

QStringList recentFiles() {
  return QSettings{}.value(kRecent).toStringList();
}

void rememberFile(const QString& path) {
  const QString whole = QFileInfo{path}.absoluteFilePath();
  QStringList files = recentFiles();
  files.removeAll(whole);
  files.prepend(whole);
  while (files.size() > kMostRecent) files.removeLast();
  QSettings{}.setValue(kRecent, files);
}

void forgetFiles() {
  QSettings{}.remove(kRecent);
}

QString recoveryPath() {
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation);
  QDir{}.mkpath(folder);
  return folder + "/recovery.json";
}

}  // namespace hexaplan::gui
