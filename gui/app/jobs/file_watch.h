#pragma once
#include <QDateTime>
#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <QTimer>

namespace hexaplan::gui {

/// Says when another program changed a file: in place, or by putting a new one in its place.
class FileWatch : public QObject {
  Q_OBJECT
 public:
  explicit FileWatch(QObject* parent = nullptr);

  /// From now on this file as it stands now; empty: none.
  void watch(const QString& path);

 signals:
  void changed();

 private:
  /// What tells one state of the file from another without reading it.
  struct Stamp {
    bool exists = false;
    QDateTime written;
    qint64 size = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  [[nodiscard]] static Stamp stampOf(const QString& path);
  void look();

  QFileSystemWatcher watcher_;
  QTimer settle_;
  QString path_;
  Stamp stamp_;
};

}  // namespace hexaplan::gui
