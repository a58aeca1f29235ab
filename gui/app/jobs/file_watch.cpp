#include "gui/app/jobs/file_watch.h"

#include <QFileInfo>

namespace hexaplan::gui {
namespace {

/// Editors write in several steps.
constexpr int kSettleMilliseconds = 150;

}  // namespace

FileWatch::FileWatch(QObject* parent) : QObject{parent} {
  settle_.setSingleShot(true);
  settle_.setInterval(kSettleMilliseconds);
  connect(&watcher_, &QFileSystemWatcher::fileChanged, &settle_, qOverload<>(&QTimer::start));
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, &settle_, qOverload<>(&QTimer::start));
  connect(&settle_, &QTimer::timeout, this, &FileWatch::look);
}

FileWatch::Stamp FileWatch::stampOf(const QString& path) {
  const QFileInfo info{path};
  if (!info.exists()) return {};
  return {true, info.lastModified(), info.size()};
}

void FileWatch::watch(const QString& path) {
  if (!watcher_.files().isEmpty()) watcher_.removePaths(watcher_.files());
  if (!watcher_.directories().isEmpty()) watcher_.removePaths(watcher_.directories());
  path_ = path;
  stamp_ = stampOf(path);
  if (path.isEmpty()) return;
  // The folder too: whoever renames a new file over ours takes the watched one away.
  watcher_.addPath(QFileInfo{path}.absolutePath());
  if (stamp_.exists) watcher_.addPath(path);
}

void FileWatch::look() {
  const Stamp now = stampOf(path_);
  if (now == stamp_) return;
  stamp_ = now;
  if (now.exists && !watcher_.files().contains(path_)) watcher_.addPath(path_);
  emit changed();
}

}  // namespace hexaplan::gui
