// Records of GPU kernels, set up and timed as tuning does.
#include "device/gpu/gpu.hpp"
#include "gemm/device_machine.hpp"
#include "lists.hpp"
#include "tune/gpu/pool.hpp"
#include "tune/gpu/tuner.hpp"
#include "tune_rematch.hpp"

namespace tilewright::cli {
namespace {

class GpuRecords : public RecordChecker {
 public:
  GpuRecords(std::shared_ptr<const GpuMachine> machine, std::size_t arena_bytes)
      : machine_(std::move(machine)), arena_(machine_->gpu(), arena_bytes) {}

  const std::string& device() const override { return machine_->gpu().limits().name; }
  bool is_for(const StoredRecord& record) const override {
    if (record.what.location != Location::device || !is_same_device(device(), record.device)) return false;
    try {
      return gpu_family_of(record.what) == record.family;
    } catch (const Error&) {
      return false;  // it has no space to search, as variable batches
    }
  }
  double usual_budget_s(const StoredRecord& record) const override { return is_small(record) ? 0.3 : 2; }
  Checked check(const StoredRecord& record, double budget_s) override {
    GpuChoiceRules rules;
    rules.incumbent = record.config;
    rules.incumbent_only = true;
    GpuPool pool(record.what, machine_->compiler(), rules, arena_);
    if (!pool.incumbent()) return {.verdict = "regression: the config is no longer legal"};
    ConfigPool& candidates = pool.candidates();
    const std::size_t places[] = {*pool.incumbent(), 0};
    if (!candidates.is_right(places[0]))
      return {.verdict = "regression: it is wrong: " + candidates.failure(places[0])};
    if (!candidates.is_right(places[1]))
      return {.verdict = "unknown: the default to compare it with fails: " + candidates.failure(places[1])};
    // Turns as long as those that tuning ends with: at the card's power limit its clock follows slowly.
    const double turn_s = is_small(record) ? 4e-3 : 1e-1;
    const auto time_turn = [&](std::size_t i) { return candidates.time(places[i], turn_s).seconds; };
    return rematch(record, time_turn, budget_s);
  }

 private:
  static bool is_small(const StoredRecord& record) { return record.family == "gemm_small"; }

  std::shared_ptr<const GpuMachine> machine_;
  GpuArena arena_;
};

}  // namespace

std::unique_ptr<RecordChecker> gpu_record_checker(const TuneFlags& flags, const Context& context) {
  auto machine = context.impl().gpus->open(static_cast<int>(parse_count("--device", flags.device, 0)));
  return std::make_unique<GpuRecords>(std::move(machine),
                                      std::size_t(parse_count("--megabytes", flags.megabytes, 1)) << 20);
}

}  // namespace tilewright::cli
