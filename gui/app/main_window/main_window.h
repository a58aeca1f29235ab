#pragma once
#include <QMainWindow>
#include <QPointer>
#include <QTimer>
#include <functional>
#include <memory>

#include "gui/app/document/recovery.h"
#include "gui/app/document/scenario_document.h"
#include "gui/app/jobs/file_reader.h"
#include "gui/app/jobs/file_watch.h"
#include "gui/app/jobs/search_job.h"
#include "gui/app/jobs/simulation_job.h"
#include "gui/app/main_window/message_bar.h"
#include "gui/models/number_text.h"

class QMenu;
class QPrinter;
class QStackedWidget;
class QTabWidget;

namespace hexaplan::presets {
struct LaunchFormat;
}  // namespace hexaplan::presets

namespace hexaplan::gui {

class MemoryPage;
class NotesPage;
class SearchPage;
class SetupPanel;
class StartPage;
class TimePage;
class ValidationPage;
class VerdictBar;

/// The window: setup at the left, the answer above, pages below; menus for everything.
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  [[nodiscard]] ScenarioDocument& document() { return document_; }
  [[nodiscard]] SearchJob& search() { return search_; }
  [[nodiscard]] QTabWidget& pages() { return *pages_; }
  [[nodiscard]] SetupPanel& setup() { return *setup_; }

  /// Opens a project, a scenario, a config.json or an execution report: reads on a worker thread; what cannot
  /// be used is said in the message line, and nothing changes.
  void open(const QString& path);
  /// Writes the window's file: the same kind again at the same path; else a project where the name ends with
  /// ".hexaplan", and a scenario, the question alone, everywhere else. False with a message when that fails.
  bool saveTo(const QString& path);
  /// Takes the scenario of the share link in `text`; says so when there is none or it cannot be read.
  void openShareLink(const QString& text);
  /// Takes what somebody copied: a share link, a config.json, a scenario, a launch command or configuration.
  void paste(const QString& text);
  /// Writes the plan for a framework; false with a message when that fails. Precondition: it is priced.
  bool exportLaunch(const QString& path, const presets::LaunchFormat& format);
  /// Writes what `hexaplan estimate --json` prints of the present question; false with a message when that
  /// fails.
  bool exportAnswer(const QString& path);
  /// Writes what the window shows as a page (report::plan_page): the plan, with the comparison and with the
  /// search where it answers the present question. On a worker thread; `reportWritten` tells the end, at once
  /// where the question is not understood.
  void writeReport(const QString& path);
  /// Searches these GPUs and loads the fastest plan that fits.
  void findLayout();
  /// Takes over what a crash left behind in `file`.
  void recover(const Session& session, RecoveryFile file);
  /// Says a problem beside what is said already.
  void tell(const QString& problem);
  /// Paints the window's content on one page.
  void printTo(QPrinter& printer);
  /// The message line at the top of the pages; empty when there is none.
  [[nodiscard]] QString message() const;

 signals:
  /// A file or link was read, and taken or not.
  void opened(const QString& path);
  /// A report is on the disk, or `problem` says why not; the message line says the same.
  void reportWritten(const QString& path, const QString& problem);

 protected:
  void showEvent(QShowEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void makePages();
  void makeMenus();
  void makeFileMenu();
  void makeLaunchMenu(QMenu* into);
  void chooseReportFile();
  void chooseAnswerFile();
  void chooseLaunchFile(const presets::LaunchFormat& format);
  void makeEditMenu();
  void makeViewMenu();
  void makeCompareMenu();
  void makeHelpMenu();
  void makeToolBar();
  void take(const QString& path, const FileContent& content);
  /// `problems`: of the files before.
  void openAll(QStringList paths, const QStringList& problems);
  void takeScenario(const QString& path, const presets::ScenarioRequest& request);
  void takeProject(const QString& path, const Project& project);
  void takeModel(const ModelFile& model);
  void takeLaunchPlan(const LaunchPlan& plan);
  std::vector<MessageBar::Offer> machinesFor(const LaunchPlan& plan);
  void takeMachines(const MachineText& machines);
  void takeCluster(const MachineText::Cluster& cluster);
  void takeMeasurements(const MeasuredFilePtr& file);
  void takeTrace(const QString& path);
  void takeRunFile(const QString& path);
  /// A file on its way.
  struct Reading {
    QString said;  // once it takes long
    bool given_up = false, done = false;
  };
  /// Says so once it takes long, with a button that gives it up.
  std::shared_ptr<Reading> beginReading(const QString& path);
  /// Whether what was read is still wanted; what was said of it ends.
  bool endReading(Reading& reading);
  void showBytesIn(ByteUnit unit);
  void showMessage(const QString& text, bool problem);
  void copyShareLink();
  /// What another program has written in place of the open file.
  void takeAgain(const QString& path, const FileContent& content);
  void fileChanged();
  bool mayDiscard();
  bool save();
  bool saveAs();
  bool write(const QString& path, SavedAs as);
  QString withEnding(const QString& path, const QStringList& known, const QString& ending);
  void sayWhatStaysUnsaved();
  void openWithDialog(const QString& title, const QString& filter);
  void newProject();
  void showExample();
  void fillRecent();
  void updateTitle();
  void showPagesOrStart();
  void loadFastest();
  void loadFound(const SearchResult& result, const planner::Plan& plan, const QString& title);
  void showNothingFound(const SearchResultPtr& result);
  void goToPane(int step);
  void exportPage();
  void printPage();
  void showAbout();
  void autosave();
  QAction* addAction(QMenu* menu, const QString& text, const char* name, const QKeySequence& keys,
                     const std::function<void()>& run);

  ScenarioDocument document_;
  SimulationJob simulations_;
  SearchJob search_;
  SetupPanel* setup_ = nullptr;
  VerdictBar* verdict_ = nullptr;
  MessageBar* message_ = nullptr;
  QStackedWidget* stack_ = nullptr;
  StartPage* start_ = nullptr;
  QTabWidget* pages_ = nullptr;
  TimePage* time_page_ = nullptr;
  SearchPage* search_page_ = nullptr;
  ValidationPage* validation_ = nullptr;
  NotesPage* notes_ = nullptr;
  QMenu* recent_ = nullptr;
  FileWatch file_watch_;
  RecoveryFile recovery_;
  bool autosave_failed_ = false;  // said once
  QTimer autosave_;
  QPointer<QWidget> setup_focus_;  // what had the keyboard there last
  bool load_fastest_ = false;      // when the search is done
};

}  // namespace hexaplan::gui
