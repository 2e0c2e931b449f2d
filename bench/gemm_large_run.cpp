// What the phases of the large GEMM bench share besides the device.
#include "gemm_large_run.hpp"

#include <algorithm>
#include <cstdio>

namespace tilewright::bench {

LargeBench::LargeBench(const LargeFlags& flags)
    : flags_(flags),
      device_(0, flags.share, flags.cache),
      gpu_(device_.gpu()),
      json_(flags.json, std::ios::app) {
  write({{"command", flags.command}, {"device", gpu_.limits().name}, {"device_uuid", gpu_.limits().uuid}});
}

bool LargeBench::late(const std::string& left_out) {
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (elapsed < flags_.seconds) return false;
  std::printf("LATE after %.0f s: %s left out\n", elapsed, left_out.c_str());
  return true;
}

void LargeBench::write(const nlohmann::json& row) {
  json_ << row.dump() << std::endl;
  if (!json_) throw Error(ErrorCode::io, "json", fmt::format("'{}' cannot be written", flags_.json));
}

void LargeBench::check(const GemmProblem& p, std::vector<LargeTrial>& trials) {
  for (LargeTrial& trial : trials) {
    device_.check(p, trial);
    if (!trial.fault.empty())
      std::printf("WRONG %s | %s: %s\n", to_string(p).c_str(), describe(trial.config).c_str(),
                  trial.fault.c_str());
  }
  std::erase_if(trials, [](const LargeTrial& trial) { return !trial.fault.empty(); });
}

void LargeBench::screen(const GemmProblem& p, std::vector<LargeTrial>& trials) {
  const double guess = flops(p) / 40e12;
  const int count = std::max(1, static_cast<int>(0.002 / guess));
  for (LargeTrial& trial : trials) {
    const auto launch = device_.ours(p, trial);
    device_.time(launch, 1);
    trial.seconds = std::min(device_.time(launch, count), device_.time(launch, count));
  }
  std::stable_sort(trials.begin(), trials.end(),
                   [](const LargeTrial& x, const LargeTrial& y) { return x.seconds < y.seconds; });
}

}  // namespace tilewright::bench
