// tilewright._tune: binds the tuner's library, in a module of its own so that programs that never tune do not
// load it.
#include "tilewright/tune.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <optional>

#include "errors.hpp"
#include "lock.hpp"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

nb::dict row_of(const Tuned& tuned) {
  nb::dict row;
  row["problem"] = to_string(tuned.problem);
  row["family"] = tuned.family;
  row["config"] = tuned.config;
  row["wisdom"] = tuned.wisdom;
  row["seconds"] = tuned.seconds, row["seconds_low"] = tuned.seconds_low,
  row["seconds_high"] = tuned.seconds_high;
  row["joules"] = tuned.joules;
  row["peer"] = tuned.peer, row["peer_seconds"] = tuned.peer_seconds;
  row["regret"] = tuned.regret, row["tie"] = tuned.tie;
  row["candidates"] = tuned.candidates, row["measured"] = tuned.measured;
  return row;
}

// Calls back between samples with Python's lock held; an exception of the callback ends the search and is
// rethrown after it.
class Progress {
 public:
  explicit Progress(nb::object callback) : callback_(std::move(callback)) {}

  bool operator()(const TuneProgress& at) {
    const Locked locked;
    if (PyErr_CheckSignals() != 0) {
      error_ = std::make_exception_ptr(nb::python_error());
      return false;
    }
    if (callback_.is_none()) return true;
    try {
      const nb::object answer =
          or_wait([&] { return callback_(to_string(at.problem), at.done, at.spent_s); });
      return answer.is_none() || nb::cast<bool>(answer);
    } catch (...) {
      error_ = std::current_exception();
      return false;
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  nb::object callback_;
  std::exception_ptr error_;
};

nb::list tune_problems(nb::capsule context, const std::vector<std::string>& texts, double budget_s,
                       const std::string& objective, const std::string& strategy, int device,
                       const std::string& log, bool resume, nb::object callback) {
  std::vector<GemmProblem> problems;
  for (const std::string& text : texts) problems.push_back(parse_problem(text));
  Progress progress(std::move(callback));
  TuneSearch search = tune_search(objective, strategy);
  search.budget_s = budget_s;
  search.device = device, search.log = log, search.resume = resume;
  search.progress = [&progress](const TuneProgress& at) { return progress(at); };
  std::vector<Tuned> found;
  {
    const Unlocked unlocked(true);
    found = tune(*static_cast<Context*>(context.data("tilewright.Context")), problems, search);
  }
  progress.rethrow();
  nb::list rows;
  for (const Tuned& one : found) rows.append(row_of(one));
  return rows;
}

}  // namespace
}  // namespace tilewright::python

NB_MODULE(_tune, module) {
  using namespace tilewright::python;
  nb::register_exception_translator(&translate_error);
  module.def("tune", &tune_problems, nb::arg("context"), nb::arg("problems"), nb::arg("budget_s"),
             nb::arg("objective"), nb::arg("strategy"), nb::arg("device"), nb::arg("log"), nb::arg("resume"),
             nb::arg("progress").none(),
             "Searches on the calling thread and keeps the winners in the wisdom of the context: a row for "
             "each problem.");
  module.def("install", [](nb::capsule context) {
    tilewright::install_tuner(*static_cast<tilewright::Context*>(context.data("tilewright.Context")));
  });
}
