// Assigns kernels to launches, sums their counters, and computes figures from the sums.
#include "analyze/launch_counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tilewright {
namespace {

using Counters = std::map<std::string, double>;
using Kernels = std::vector<const ProfiledLaunch*>;

constexpr const char* duration = "gpu__time_duration.sum";  // in nanoseconds with --print-units base
constexpr const char* instructions = "smsp__sass_thread_inst_executed_op_";
constexpr const char* stalled = "smsp__average_warps_issue_stalled_";
constexpr const char* stalled_end = "_per_issue_active.ratio";

bool is_ours(const std::string& impl) { return impl == "tilewright"; }

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "--counters", "--counters: " + why);
}

// tilewright's kernels have their stencil's name, and each of its launches has one kernel; all kernels
// between two of them belong to the library's launch at that place in the order.
std::vector<Kernels> kernels_of(const std::vector<ProfiledLaunch>& profile,
                                const std::vector<OrderedLaunch>& order) {
  std::vector<Kernels> kernels(order.size());
  std::size_t next = 0;  // the first launch without a kernel so far
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const ProfiledLaunch& kernel = profile[i];
    const bool own = kernel.name.find("gemm_small") != std::string::npos ||
                     kernel.name.find("gemm_large") != std::string::npos;
    if (own)
      while (next < order.size() && !is_ours(order[next].impl))
        ++next;  // a launch whose kernels were not profiled
    const bool begins = next < order.size() && own == is_ours(order[next].impl);
    if (own && !begins) refuse(fmt::format("kernel {} '{}' has no launch in --order", i, kernel.name));
    if (begins) ++next;
    if (next == 0 || (!own && is_ours(order[next - 1].impl)))
      refuse(fmt::format("kernel {} '{}' belongs to no launch of --order", i, kernel.name));
    const OrderedLaunch& launch = order[next - 1];
    if (own && (kernel.blocks != launch.blocks || kernel.threads != launch.threads))
      refuse(fmt::format("kernel {} has {} blocks of {} threads, and --order says {} of {}", i, kernel.blocks,
                         kernel.threads, launch.blocks, launch.threads));
    kernels[next - 1].push_back(&kernel);
  }
  for (std::size_t i = 0; i < order.size(); ++i)
    if (is_ours(order[i].impl) && kernels[i].empty())
      refuse(fmt::format("launch {} of --order is not in the profile", i));
  return kernels;
}

// Adds the counters that are sums; the rest is a mean over time.
Counters together(const Kernels& kernels) {
  Counters sums, weights;
  for (const ProfiledLaunch* kernel : kernels) {
    const auto time = kernel->counters.find(duration);
    const double weight = time == kernel->counters.end() ? 1 : time->second;
    for (const auto& [name, value] : kernel->counters) {
      const bool adds = name.ends_with(".sum");
      sums[name] += adds ? value : value * weight;
      weights[name] += adds ? 0 : weight;
    }
  }
  for (auto& [name, sum] : sums)
    if (weights[name] > 0) sum /= weights[name];
  return sums;
}

class Figures {
 public:
  explicit Figures(const Counters& counters) : counters_(counters) {}

  std::optional<double> value(const std::string& name) const {
    const auto found = counters_.find(name);
    return found == counters_.end() ? std::nullopt : std::optional(found->second);
  }
  // Returns the sum of those that are present; empty if there are none.
  std::optional<double> sum(const std::vector<std::string>& names) const {
    std::optional<double> sum;
    for (const std::string& name : names)
      if (const auto one = value(name)) sum = sum.value_or(0) + *one;
    return sum;
  }
  static std::vector<std::string> executed(const std::vector<std::string>& kinds) {
    std::vector<std::string> names;
    for (const std::string& kind : kinds) names.push_back(instructions + kind + "_pred_on.sum");
    return names;
  }
  void add(const char* key, const std::optional<double>& value, double factor = 1) {
    if (value) json_[key] = *value * factor;
  }
  // Null if no such instruction ran, for which the profiler has 0.
  void add_efficiency(const char* key, const char* operation) {
    const auto percent =
        value(fmt::format("smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.pct", operation));
    if (percent.value_or(0) > 0) add(key, percent, 0.01);
  }
  void add_share(const char* key, const std::optional<double>& part, const std::optional<double>& whole) {
    if (part && whole && *whole > 0) json_[key] = *part / *whole;
  }
  void add_top_stall() {
    std::string most;
    double largest = 0, all = 0;
    for (const auto& [name, value] : counters_) {
      if (!name.starts_with(stalled) || !name.ends_with(stalled_end)) continue;
      const std::string reason =
          name.substr(std::string(stalled).size(),
                      name.size() - std::string(stalled).size() - std::string(stalled_end).size());
      if (reason == "selected") continue;  // these warps issue
      all += value;
      if (value <= largest) continue;
      largest = value;
      most = reason;
    }
    if (all <= 0) return;
    json_["top_stall"] = most;
    json_["top_stall_share"] = largest / all;
  }
  nlohmann::json take() { return std::move(json_); }

 private:
  const Counters& counters_;
  nlohmann::json json_ = nlohmann::json::object();
};

nlohmann::json figures_of(const Counters& counters, const nlohmann::json& bound_bytes) {
  Figures f(counters);
  const auto counted = f.sum(Figures::executed({"integer", "fp32", "fp64"}));
  f.add("seconds", f.value(duration), 1e-9);
  f.add_share("integer_share", f.sum(Figures::executed({"integer"})), counted);
  f.add_share("fma_share", f.sum(Figures::executed({"ffma", "dfma"})), counted);
  auto tensor = f.value("sm__inst_executed_pipe_tensor.sum");
  if (!tensor) tensor = f.value("sm__inst_executed_pipe_tensor_op_dmma.sum");
  f.add_share("tensor_share", tensor, f.value("smsp__inst_executed.sum"));
  f.add("occupancy", f.value("sm__warps_active.avg.pct_of_peak_sustained_active"), 0.01);
  f.add_efficiency("load_efficiency", "ld");
  f.add_efficiency("store_efficiency", "st");
  f.add("dram_gbs", f.value("dram__bytes.sum.per_second"), 1e-9);
  if (bound_bytes.is_number())
    f.add_share("bound_bytes_share", bound_bytes.get<double>(), f.value("dram__bytes.sum"));
  const std::string conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_";
  f.add_share("conflict_share", f.sum({conflicts + "ld.sum", conflicts + "st.sum"}),
              f.value("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"));
  f.add_top_stall();
  return f.take();
}

}  // namespace

std::vector<nlohmann::json> launch_counters(const std::vector<ProfiledLaunch>& profile,
                                            const std::vector<OrderedLaunch>& order) {
  const auto kernels = kernels_of(profile, order);
  std::vector<nlohmann::json> rows;
  for (std::size_t i = 0; i < order.size(); ++i) {
    nlohmann::json row = order[i].line;
    row["kernels"] = kernels[i].size();
    row["counters"] = figures_of(together(kernels[i]), row.value("bound_bytes", nlohmann::json()));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tilewright
