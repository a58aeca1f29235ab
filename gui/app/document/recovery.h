#pragma once
#include <QByteArray>
#include <QLockFile>
#include <QString>
#include <memory>
#include <vector>

namespace hexaplan::gui {

/// The file in which one window keeps its session until it ends by itself. Locked while its window lives, so
/// that no other window takes it; the lock of a process that is gone does not count.
class RecoveryFile {
 public:
  RecoveryFile() = default;
  /// Files whose window is gone, taken over: locked by this process from now on.
  [[nodiscard]] static std::vector<RecoveryFile> orphans();
  /// Where they lie.
  [[nodiscard]] static QString folder();

  /// Replaces the content. Returns what went wrong; empty when it is on the disk.
  [[nodiscard]] QString write(const QByteArray& text);
  /// The window ended by itself: nothing is to be recovered.
  void remove();
  /// Keeps a file that cannot be read under a name at which no window looks again; returns that name.
  QString setAside();
  /// Empty before the first `write`.
  [[nodiscard]] QString path() const { return path_; }

 private:
  QString path_;
  std::unique_ptr<QLockFile> lock_;  // held while there is a path
};

}  // namespace hexaplan::gui
