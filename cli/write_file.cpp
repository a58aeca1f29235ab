#include "cli/write_file.h"

#include <cstring>

#include "presets/json/input_error.h"
#include "validator/executor/checkpoint/durable_file.h"

namespace hexaplan::cli {
namespace {

template <class Write>
void naming_what_failed(const Write& write, const char* expected = "a file that can be written") {
  try {
    write();
  } catch (const validator::FileError& error) {
    throw presets::InputError(
        {.file = error.path, .value = std::strerror(error.error), .expected = expected});
  }
}

}  // namespace

void write_file(const std::string& path, std::string_view text) {
  naming_what_failed([&] { validator::write_durably(path, text); });
}

void write_file(const std::string& path,
                const std::function<void(const std::function<void(std::string_view)>&)>& fill) {
  naming_what_failed([&] {
    validator::DurableFile file{path};
    fill([&](std::string_view piece) { file.write(piece); });
    file.commit();
  });
}

void check_output_folder(const std::string& path) {
  naming_what_failed([&] { validator::check_can_make_folder(path); }, "a folder for checkpoints");
}

void check_output(const std::string& path) {
  if (path.empty() || path == "-") return;
  naming_what_failed([&] { validator::check_can_write(path); });
}

}  // namespace hexaplan::cli
