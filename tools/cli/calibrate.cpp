// The verb `calibrate`: fits the models of this machine's CPU, GPUs and the links between them, keeps them in
// the user's wisdom, and prints what it finds. src/tune/calibrate measures.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/env.hpp"
#include "lists.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "people/refusal.hpp"
#include "tune/calibrate/calibration.hpp"
#include "tune_flags.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

constexpr std::int64_t per_mille = 1000;

struct CalibrateFlags {
  bool quick = false, resume = false;
  std::string dtype = "f64,f32,c128,c64", gpus = "all", budget, wisdom, log, json;
};

CalibrationOptions options_of(const CalibrateFlags& flags) {
  CalibrationOptions options;
  options.scope.quick = flags.quick;
  options.scope.dtypes = parse_names<DType>("--dtype", flags.dtype);
  if (std::set(options.scope.dtypes.begin(), options.scope.dtypes.end()).size() < options.scope.dtypes.size())
    refuse_value("--dtype", flags.dtype, "contains a type twice");
  options.budget_s =
      flags.budget.empty() ? (flags.quick ? 30 : 240) : parse_duration("--budget", flags.budget);
  options.resume = flags.resume;
  options.command = "tilewright calibrate";
  if (flags.quick) options.command += " --quick";
  options.log = flags.log;
  require_place("log", flags.log);
  if (options.log.empty())
    options.log = default_log(Environment::read(), "log", "calibrate.jsonl", flags.resume);
  return options;
}

std::optional<std::vector<int>> gpus_of(const std::string& text) {
  if (text == "all") return std::nullopt;
  return text == "none" ? std::vector<int>() : parse_gpus(text);
}

class Calibrate : public CalibrationWatcher {
 public:
  explicit Calibrate(const CalibrateFlags& flags)
      : options_(options_of(flags)),
        json_(flags.json),
        machine_(open_machine(context_, gpus_of(flags.gpus))) {
    if (flags.wisdom != "none") store_ = open_own_wisdom("wisdom", flags.wisdom);
    options_.store = store_.get();
  }

  void run() {
    tell(machine_text(*machine_));
    const CalibrationReport report = calibrate(options_, *machine_, *this);
    tell(summary_text(report));
    if (report.stopped) throw JobFailed("stopped; the fitted models are kept, and --resume continues");
    json_.write(summary_line(report));
    if (report.fitted == 0) throw JobFailed("no model could be fitted");
    if (store_)
      tell(fmt::format("{} {}\n", kept_any_ ? "kept in" : "nothing was changed in", store_->path()));
  }

 private:
  void tell(const std::string& text) {
    progress_.clear();
    fmt::print(json_.people(), "{}", text);
    std::fflush(json_.people());
  }
  bool stop(double share_done, const std::string& now) override {
    progress_.show(std::llround(share_done * per_mille), now);
    return interrupt_.requested();
  }
  void left_out(const std::vector<Experiment>& experiments, const std::string& reason) override {
    tell(left_out_text(experiments, reason));
  }
  void fitted(const CalibratedModel& model) override {
    tell(model_text(model));
    kept_any_ = kept_any_ || model.is_kept;
    for (const auto& line : model_lines(model)) json_.write(line);
  }
  void unfitted(const CalibrationTask& task, const FittedTask& fitted) override {
    tell(unfitted_text(task, fitted, *machine_));
  }

  CalibrationOptions options_;
  bool kept_any_ = false;
  JsonLines json_;
  Context context_{{.notices = false}};
  std::unique_ptr<CalibrationMachine> machine_;
  std::unique_ptr<WisdomStore> store_;
  Interrupt interrupt_;
  Progress progress_{"calibrate, per mille", per_mille};
};

}  // namespace

void add_calibrate(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("calibrate", "Fit the CPU, GPU and transfer models of this machine");
  auto flags = std::make_shared<CalibrateFlags>();
  verb->add_flag("--quick", flags->quick, "run fewer and smaller experiments");
  verb->add_flag("--resume", flags->resume, "continue from the log");
  verb->add_option("--dtype", flags->dtype, "types of the products")->capture_default_str();
  verb->add_option("--gpus", flags->gpus, "all, none, a number of GPUs, or a list of them: 0,2")
      ->capture_default_str();
  verb->add_option("--budget", flags->budget, "total time (default: 4min; 30s with --quick)");
  verb->add_option("--wisdom", flags->wisdom,
                   "database that keeps the models (default: the user's), or none");
  verb->add_option("--log", flags->log, "log of the timings (default: calibrate.jsonl in the cache folder)");
  verb->add_option("--json", flags->json,
                   "write the models and their validation as JSON lines (- is stdout)");
  verb->footer("Example: tilewright calibrate --quick");
  verb->callback([flags] {
    keep_files_apart({{"wisdom", flags->wisdom}}, {{"log", flags->log}, {"json", flags->json}});
    Calibrate(*flags).run();
  });
}

}  // namespace tilewright::cli
