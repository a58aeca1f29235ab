#include <QApplication>
#include <QIcon>
#include <QLibraryInfo>
#include <QLocale>
#include <QSettings>
#include <QTranslator>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "gui/app/main_window/display.h"
#include "gui/app/main_window/start.h"
#include "gui/app/main_window/theme.h"
#include "gui/app/main_window/version.h"

namespace {

// As cli/exit_code.h: the environment cannot be used.
constexpr int kUnusable = 4;

/// Answers that need no display.
bool answered(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word{argv[i]};
    if (word == "--version" || word == "-v") {
      std::printf("hexaplan-gui %s\n", hexaplan::gui::versionText().c_str());
      return true;
    }
    if (word == "--help" || word == "-h") {
      std::printf(
          "Usage: hexaplan-gui [options] [FILE]\n"
          "Playground of the planner hexaplan: memory and time of a training run answer at once.\n\n"
          "FILE        a project, a scenario, a Hugging Face config.json, an execution report of\n"
          "            'hexaplan run', or a share link (hexaplan:scenario/…)\n"
          "--dark      dark colours; --light: light ones. Default: as last time\n"
          "--version   print the version\n"
          "--help      print this\n");
      return true;
    }
  }
  return false;
}

void loadTranslations(QApplication& app) {
  static QTranslator own, qt;
  if (own.load(QLocale{}, "hexaplan", "_", ":/i18n")) app.installTranslator(&own);
  if (qt.load(QLocale{}, "qtbase", "_", QLibraryInfo::path(QLibraryInfo::TranslationsPath)))
    app.installTranslator(&qt);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hexaplan::gui;
  if (answered(argc, argv)) return 0;
  if (const char* problem = displayProblem()) {
    std::fprintf(stderr, "hexaplan-gui: %s\n", problem);
    return kUnusable;
  }
  QApplication app{argc, argv};
  QCoreApplication::setApplicationName("hexaplan");
  QCoreApplication::setOrganizationName("hexaplan");
  QGuiApplication::setApplicationDisplayName("Hexaplan");
  QGuiApplication::setDesktopFileName("hexaplan-gui");
  app.setWindowIcon(QIcon{":/hexaplan/hexaplan.svg"});
  loadTranslations(app);
  QStringList words = QCoreApplication::arguments().mid(1);
  bool dark = QSettings{}.value("dark", false).toBool();
  if (words.removeAll("--dark") > 0) dark = true;
  if (words.removeAll("--light") > 0) dark = false;
  for (const QString& word : words) {
    if (!word.startsWith('-') && words.size() == 1) continue;
    std::fprintf(stderr, "hexaplan-gui: got \"%s\", expected at most one file; see hexaplan-gui --help\n",
                 qPrintable(words.join(' ')));
    return 2;
  }
  applyTheme(themeOf(dark, QSettings{}.value("highContrast", false).toBool()));
  openWindows(words.isEmpty() ? QString{} : words.front());
  return QApplication::exec();
}
