// The C interface of the tuner's library.
#include "c_handles.hpp"
#include "sized.hpp"
#include "tilewright/tilewright_tune.h"
#include "tilewright/tune.hpp"

namespace {

tilewright::TuneSearch search_of(const tilewright_tune_options& o) {
  tilewright::TuneSearch search = tilewright::tune_search(o.objective == nullptr ? "time" : o.objective,
                                                          o.strategy == nullptr ? "exhaustive" : o.strategy);
  if (o.budget_s != 0) search.budget_s = o.budget_s;
  if (o.log != nullptr) search.log = o.log;
  search.device = o.device;
  search.resume = o.resume != 0;
  if (o.progress != nullptr)
    search.progress = [&o](const tilewright::TuneProgress& now) {
      return o.progress(o.progress_data, to_string(now.problem).c_str(), now.done, now.spent_s) != 0;
    };
  return search;
}

tilewright_tuned tuned_of(const tilewright::Tuned& t) {
  return {t.seconds, t.seconds_low, t.seconds_high, t.joules,  t.peer_seconds,
          t.regret,  t.tie ? 1 : 0, t.candidates,   t.measured};
}

}  // namespace

extern "C" tilewright_status tilewright_tune(tilewright_context* context, const char* const* problems,
                                             int64_t count, const tilewright_tune_options* given,
                                             tilewright_tuned* tuned, int64_t* found) {
  if (found != nullptr) *found = 0;
  return tilewright::with_context(context, [&](tilewright::Context& inner) {
    tilewright::refuse_negative("count", count);
    if (count > 0 && problems == nullptr) tilewright::refuse("problems", "problems is null");
    std::vector<tilewright::GemmProblem> asked;
    for (int64_t i = 0; i < count; ++i) {
      if (problems[i] == nullptr)
        tilewright::refuse("problems", "problems[" + std::to_string(i) + "] is null");
      asked.push_back(tilewright::parse_problem(problems[i]));
    }
    const tilewright::Sized<tilewright_tune_options> options("options", given);
    const tilewright_tune_options none{};
    const auto results = tilewright::tune(inner, asked, search_of(given == nullptr ? none : *options));
    for (std::size_t i = 0; i < results.size() && tuned != nullptr; ++i) tuned[i] = tuned_of(results[i]);
    if (found != nullptr) *found = static_cast<int64_t>(results.size());
  });
}

extern "C" tilewright_status tilewright_install_tuner(tilewright_context* context) {
  return tilewright::with_context(context,
                                  [](tilewright::Context& inner) { tilewright::install_tuner(inner); });
}
