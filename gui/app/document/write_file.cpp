#include "gui/app/document/write_file.h"

#include <QSaveFile>

namespace hexaplan::gui {

QString writeFile(const QString& path, const QByteArray& content) {
  QSaveFile file{path};
  const bool written =
      file.open(QIODevice::WriteOnly) && file.write(content) == content.size() && file.commit();
  return written ? QString{} : file.errorString();
}

}  // namespace hexaplan::gui
