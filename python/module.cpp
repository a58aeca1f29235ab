// hexaplan._core: the planner's functions for python/hexaplan, which gives their answers names and types.
// Work is done without the interpreter's lock.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "cli/version.h"
#include "presets/json/input_error.h"
#include "python/answers.h"
#include "python/objects.h"

namespace hexaplan::python {
namespace {

namespace nb = nanobind;

Asked asked_of(nb::handle options, nb::handle scenario) {
  return {from_python(options, "options"), from_python(scenario, "scenario")};
}

/// The answer of `function` to a question.
template <class Function>
auto answer_of(const Function& function, nb::handle options, nb::handle scenario) {
  const Asked asked = asked_of(options, scenario);
  const nb::gil_scoped_release unlocked;
  return function(asked);
}

nb::object import_files(nb::handle options, nb::handle scenario) {
  return to_python(answer_of(import_config, options, scenario));
}

/// Ctrl-C raises KeyboardInterrupt, as everywhere in Python, at the search's next sign of progress.
SearchAnswer search_interruptibly(nb::handle options, nb::handle scenario) {
  bool raised = false;
  const auto interrupted = [&raised] {
    const nb::gil_scoped_acquire locked;
    raised = raised || PyErr_CheckSignals() != 0;
    return raised;
  };
  SearchAnswer answer =
      answer_of([&](const Asked& asked) { return search(asked, interrupted); }, options, scenario);
  if (raised) throw nb::python_error();
  return answer;
}

/// Text that takes its time.
template <class Answer, std::string (Answer::*text)() const>
std::string unlocked_text(const Answer& answer) {
  const nb::gil_scoped_release unlocked;
  return (answer.*text)();
}
template <class Answer>
std::string unlocked_svg(const Answer& answer, const std::string& picture) {
  const nb::gil_scoped_release unlocked;
  return answer.svg(picture);
}
template <class Answer>
nb::object json_of(const Answer& answer) {
  presets::JsonValue json;
  {
    const nb::gil_scoped_release unlocked;
    json = answer.json();
  }
  return to_python(json);
}

/// What every answer with pictures has.
template <class Answer>
nb::class_<Answer> add_answer(nb::module_& module, const char* name) {
  return nb::class_<Answer>(module, name)
      .def("json", &json_of<Answer>)
      .def("display", &unlocked_text<Answer, &Answer::display>)
      .def("page", &unlocked_text<Answer, &Answer::page>);
}

void add_answers(nb::module_& module) {
  add_answer<EstimateAnswer>(module, "EstimateAnswer")
      .def("svg", &unlocked_svg<EstimateAnswer>, nb::arg("picture"))
      .def_prop_ro("fits", &EstimateAnswer::fits)
      .def_prop_ro("step_seconds", &EstimateAnswer::step_seconds)
      .def_prop_ro("peak_bytes", &EstimateAnswer::peak_bytes)
      .def_prop_ro("risk", &EstimateAnswer::risk);
  add_answer<SimulationAnswer>(module, "SimulationAnswer")
      .def("svg", &unlocked_svg<SimulationAnswer>, nb::arg("picture"));
  add_answer<SearchAnswer>(module, "SearchAnswer");
  add_answer<CompareAnswer>(module, "CompareAnswer")
      .def("cells", &CompareAnswer::cells)
      .def("sides", &CompareAnswer::sides);
  nb::class_<AccuracyAnswer>(module, "AccuracyAnswer").def("json", &json_of<AccuracyAnswer>);
}

void add_functions(nb::module_& module) {
  const auto options = nb::arg("options");
  const auto scenario = nb::arg("scenario").none();
  module.def(
      "estimate", [](nb::handle o, nb::handle s) { return answer_of(estimate, o, s); }, options, scenario);
  module.def(
      "simulate", [](nb::handle o, nb::handle s) { return answer_of(simulate, o, s); }, options, scenario);
  module.def("search", &search_interruptibly, options, scenario);
  module.def(
      "compare",
      [](nb::handle o, nb::handle s) {
        return answer_of([](const Asked& asked) { return compare(asked); }, o, s);
      },
      options, scenario);
  module.def(
      "compare_answers",
      [](const std::vector<std::string>& names, const std::vector<EstimateAnswer>& answers) {
        const nb::gil_scoped_release unlocked;
        return compare(names, answers);
      },
      nb::arg("names"), nb::arg("answers"));
  module.def(
      "accuracy", [](nb::handle o, nb::handle s) { return answer_of(accuracy, o, s); }, options, scenario);
  module.def("import_config", &import_files, options, scenario);
  module.def(
      "read_scenario", [](const std::string& path) { return to_python(read_scenario(path)); },
      nb::arg("path"));
  module.def(
      "options", [](const std::string& function) { return to_python(options_of(function)); },
      nb::arg("function"));
}

/// hexaplan.Error, and what becomes one: input that cannot be used, with the one line that says why.
void add_error(nb::module_& module) {
  const nb::object error = nb::steal(PyErr_NewExceptionWithDoc(
      "hexaplan.Error", "Input that cannot be used: what, where, what was expected, what to do.",
      PyExc_ValueError, nullptr));
  module.attr("Error") = error;
  const auto translate = [](const std::exception_ptr& thrown, void* type) {
    try {
      std::rethrow_exception(thrown);
    } catch (const presets::InputError& problem) {
      PyErr_SetString(static_cast<PyObject*>(type), problem.what());
    } catch (const cli::UsageError& problem) {
      PyErr_SetString(static_cast<PyObject*>(type), problem.what());
    }
  };
  nb::register_exception_translator(translate, error.ptr());
}

}  // namespace

// NOLINTBEGIN: what the macro writes
NB_MODULE(_core, module) {
  module.attr("version") = cli::version_text();
  add_error(module);
  add_answers(module);
  add_functions(module);
}
// NOLINTEND

}  // namespace hexaplan::python
