#include "gui/app/document/recovery.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>
#include <QUuid>
#include <utility>

#include "gui/app/document/write_file.h"

namespace hexaplan::gui {

namespace {

constexpr const char* kPattern = "window-*.json";

QString failure(const char* text, const QString& path, const QString& reason) {
  return QCoreApplication::translate("Recovery", text).arg(path, reason);
}

/// A lock that nobody holds who is alive; however old it is, a window that lives keeps it.
std::unique_ptr<QLockFile> locked(const QString& path) {
  auto lock = std::make_unique<QLockFile>(path + ".lock");
  lock->setStaleLockTime(0);
  return lock->tryLock(0) ? std::move(lock) : nullptr;
}

/// Earlier versions had one file for all windows, beside today's folder.
void adoptOldFile(const QDir& folder) {
  const QString old = QFileInfo{folder.path()}.dir().filePath("recovery.json");
  if (QFile::exists(old)) QFile::rename(old, folder.filePath("window-before.json"));
}

}  // namespace

QString RecoveryFile::folder() {
  return QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + "/recovery";
}

std::vector<RecoveryFile> RecoveryFile::orphans() {
  const QDir folder{RecoveryFile::folder()};
  if (folder.exists() || QDir{}.mkpath(folder.path())) adoptOldFile(folder);
  std::vector<RecoveryFile> found;
  for (const QString& name : folder.entryList({kPattern}, QDir::Files, QDir::Time)) {
    RecoveryFile file;
    file.path_ = folder.filePath(name);
    file.lock_ = locked(file.path_);
    // Its window may have ended by itself between the listing and the lock.
    if (file.lock_ && QFile::exists(file.path_)) found.push_back(std::move(file));
  }
  return found;
}

QString RecoveryFile::write(const QByteArray& text) {
  constexpr const char* kNotWritten = QT_TRANSLATE_NOOP("Recovery", "%1 cannot be written: %2");
  if (path_.isEmpty()) {
    const QString name = "window-" + QUuid::createUuid().toString(QUuid::Id128) + ".json";
    const QString path = QDir{folder()}.filePath(name);
    QDir{}.mkpath(folder());
    lock_ = locked(path);
    if (!lock_) return failure(kNotWritten, path, QCoreApplication::translate("Recovery", "no lock file"));
    path_ = path;
  }
  const QString problem = writeFile(path_, text);
  return problem.isEmpty() ? QString{} : failure(kNotWritten, path_, problem);
}

void RecoveryFile::remove() {
  if (path_.isEmpty()) return;
  QFile::remove(path_);
  lock_.reset();
  path_.clear();
}

QString RecoveryFile::setAside() {
  QString kept = path_ + ".unreadable";
  for (int i = 2; QFile::exists(kept); ++i) kept = QString{"%1.unreadable-%2"}.arg(path_).arg(i);
  if (!QFile::rename(path_, kept)) kept = path_;  // stays where it is
  lock_.reset();
  path_.clear();
  return kept;
}

}  // namespace hexaplan::gui
