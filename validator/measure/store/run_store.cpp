#include "validator/measure/store/run_store.h"

namespace hexaplan::validator {
namespace {

RunRecord head_of(const Statement& row) {
  return {.id = row.integer(0),
          .at = row.text(1),
          .kind = row.text(2),
          .title = row.text(3),
          .machine = row.text(4),
          .version = row.text(5),
          .scenario = row.text(6),
          .report = {}};
}

}  // namespace

std::int64_t RunStore::add(const RunRecord& run) {
  Statement insert{database_,
                   "INSERT INTO run(at, kind, title, machine, version, scenario, report) "
                   "VALUES(?, ?, ?, ?, ?, ?, ?) RETURNING id"};
  insert.bind(run.at.empty() ? utc_now() : run.at).bind(run.kind).bind(run.title).bind(run.machine);
  insert.bind(run.version).bind(run.scenario).bind(run.report);
  (void)insert.step();
  const std::int64_t id = insert.integer(0);
  (void)insert.step();  // only now is it committed
  return id;
}

bool RunStore::update(const RunRecord& run) {
  Statement update{database_,
                   "UPDATE run SET title = ?, report = ? WHERE id = ? AND at = ? AND kind = ? RETURNING id"};
  update.bind(run.title).bind(run.report).bind(run.id).bind(run.at).bind(run.kind);
  const bool found = update.step();
  if (found) (void)update.step();  // only now is it committed
  return found;
}

std::vector<RunRecord> RunStore::list(const std::string& kind, std::int64_t most) {
  Statement select{database_,
                   "SELECT id, at, kind, title, machine, version, scenario FROM run "
                   "WHERE ?1 = '' OR kind = ?1 ORDER BY id DESC LIMIT ?2"};
  select.bind(kind).bind(most);
  std::vector<RunRecord> runs;
  while (select.step()) runs.push_back(head_of(select));
  return runs;
}

std::optional<RunRecord> RunStore::get(std::int64_t id) {
  Statement select{database_,
                   "SELECT id, at, kind, title, machine, version, scenario, report FROM run WHERE id = ?"};
  select.bind(id);
  if (!select.step()) return std::nullopt;
  RunRecord run = head_of(select);
  run.report = select.text(7);
  return run;
}

}  // namespace hexaplan::validator
