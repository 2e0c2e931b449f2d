// Makes the list of a sweep: configs are compiled into the cache on disk by all cores, spilling ones are left
// out with the reason, and instructions are counted if there is a disassembler.
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>

#include "bench/provenance.hpp"
#include "core/env.hpp"
#include "core/input/json_text.hpp"
#include "experiment.hpp"
#include "gemm_large_sweep.hpp"
#include "kernel/gemm_large/loader.hpp"
#include "people/refusal.hpp"
#include "wisdom/families.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

template <>
struct FieldList<GpuLimits> {
  using L = GpuLimits;
  static constexpr auto value =
      std::make_tuple(field("name", &L::name), field("compute_capability", &L::compute_capability),
                      field("multiprocessors", &L::multiprocessors),
                      field("shared_bytes_per_block", &L::shared_bytes_per_block),
                      field("shared_bytes_per_multiprocessor", &L::shared_bytes_per_multiprocessor),
                      field("shared_bytes_reserved", &L::shared_bytes_reserved),
                      field("threads_per_block", &L::threads_per_block),
                      field("threads_per_multiprocessor", &L::threads_per_multiprocessor),
                      field("registers_per_multiprocessor", &L::registers_per_multiprocessor),
                      field("l2_bytes", &L::l2_bytes), field("memory_bytes", &L::memory_bytes));
};

namespace bench {
namespace {

// Compiles more configs than wanted, because some will spill.
constexpr double reserve = 1.6;

class ListCompiler {
 public:
  ListCompiler(const SweepFlags& flags, const GemmProblem& problem, const GpuLimits& limits)
      : flags_(flags),
        problem_(problem),
        shape_(gemm_large_shape(problem)),
        limits_(limits),
        compiler_(share_folder(Environment::read(), "kernel"), kernel_cache(), Environment::read().nvrtc) {}

  // Returns a line for each of `configs`: the config with the compiler's report, or why it is refused.
  std::vector<nlohmann::json> compile(const std::vector<GemmLargeConfig>& configs) {
    std::vector<nlohmann::json> lines(configs.size());
    const int jobs = flags_.jobs > 0 ? static_cast<int>(flags_.jobs) : omp_get_num_procs();
#pragma omp parallel for schedule(dynamic) num_threads(jobs)
    for (std::size_t i = 0; i < configs.size(); ++i) {
      lines[i] = one(configs[i]);
      if (const std::size_t done = ++compiled_; done % 50 == 0) std::printf("compile: %zu compiled\n", done);
    }
    std::fflush(stdout);
    return lines;
  }
  std::string instructions_fault() const { return fault_; }
  std::string compiler_version() const { return compiler_.provenance(); }

 private:
  nlohmann::json one(const GemmLargeConfig& config) {
    nlohmann::json line{{"config", to_json(config)}};
    try {
      const JitBinary binary =
          compiler_.compile(gemm_large_request(shape_, config, problem_.dtype, limits_.compute_capability));
      const StencilReport report = stencil_report(binary.log);
      line["registers"] = report.registers;
      if (const std::string fault = gemm_large_refusal(binary, config, limits_); !fault.empty())
        line["refused"] = fault;
      else
        line["instructions_per_k_tile"] = instructions(config, binary);
    } catch (const std::exception& error) {
      line["refused"] = error.what();
    }
    return line;
  }

  // Returns null if they cannot be counted.
  nlohmann::json instructions(const GemmLargeConfig& c, const JitBinary& binary) {
    try {
      return to_json_object(main_loop_counts(binary, c, problem_.dtype, flags_.nvdisasm));
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      fault_ = error.what();
    }
    return nullptr;
  }

  const SweepFlags& flags_;
  const GemmProblem& problem_;
  GemmLargeShape shape_;
  const GpuLimits& limits_;
  StencilCompiler compiler_;
  std::mutex mutex_;
  std::string fault_;
  std::atomic<std::size_t> compiled_ = 0;
};

[[noreturn]] void refuse_limits(const std::string& path, const std::string& why) {
  io_fault("--limits", "--limits = '{}' {}", path, why);
}

GpuLimits limits_for(const SweepFlags& flags) {
  if (flags.limits.empty()) return Gpu::limits_of(flags.device);
  std::ifstream file(flags.limits);
  const auto json = parse_json_or_discard(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!json.is_object()) refuse_limits(flags.limits, "cannot be read");
  GpuLimits limits;
  try {
    limits = from_json<GpuLimits>(json);
  } catch (const Error& error) {
    refuse_limits(flags.limits, fmt::format("is no device's: {}", error.what()));
  }
  const auto all = to_json(limits);
  for (const auto& item : all.items())
    if (item.value().is_number() && item.value() < (item.key() == "shared_bytes_reserved" ? 0 : 1))
      refuse_limits(flags.limits, fmt::format("is no device's: {} = {}", item.key(), item.value().dump()));
  if (const std::string why = why_too_old(limits); !why.empty())
    refuse_limits(flags.limits, "will not do: " + why);
  return limits;
}

// Other contents of the path are kept: they may be a sweep, or a user's notes.
const LineLogRules list_rules{"configs", "command", false, "configs"};
const LineLogRules limits_rules{"limits", "compute_capability"};

void write_list(const std::string& path, const LineLogRules& rules,
                const std::vector<nlohmann::json>& lines) {
  refuse_foreign_file(path, rules);
  const std::string aside = path + ".new";
  {
    std::ofstream file(aside);
    for (const auto& line : lines) file << line.dump() << '\n';
    if (!file.flush()) io_fault("--" + rules.argument, "--{} = '{}' cannot be written", rules.argument, path);
  }
  std::filesystem::rename(aside, path);
}

// Refuses early; otherwise everything would be compiled for nothing.
void refuse_unwritable_folder(const char* argument, const std::string& given,
                              const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder) || ::access(folder.c_str(), W_OK | X_OK) != 0)
    io_fault(argument, "{} = '{}': '{}' is no folder that can be written to", argument, given,
             folder.string());
}

}  // namespace

void write_limits(const SweepFlags& flags) {
  write_list(flags.limits, limits_rules, {to_json(Gpu::limits_of(flags.device))});
}

void compile_sweep(const SweepFlags& flags) {
  refuse_foreign_file(flags.configs, list_rules);
  refuse_unwritable_folder("--configs", flags.configs,
                           std::filesystem::absolute(flags.configs).parent_path());
  const GpuLimits limits = limits_for(flags);
  const GemmProblem problem = large_case(flags.dtype, flags.op, flags.n).problem;
  const auto wanted = static_cast<std::size_t>(double(flags.count) * reserve);
  SweepChoice choice = choose_sweep(
      problem, gemm_large_shape(problem),
      gemm_large_device(limits, fitted_coefficients(nullptr, limits.name, architecture_of(limits))), wanted,
      flags.seed);
  ListCompiler compiler(flags, problem, limits);
  std::vector<nlohmann::json> good, refused;
  std::vector<GemmLargeConfig> kept;
  for (std::size_t next = 0; next < choice.configs.size() && good.size() < flags.count;) {
    const std::size_t last = std::min(choice.configs.size(), next + flags.count - good.size());
    const std::vector<GemmLargeConfig> part(choice.configs.begin() + static_cast<long>(next),
                                            choice.configs.begin() + static_cast<long>(last));
    const auto lines = compiler.compile(part);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      (lines[i].contains("refused") ? refused : good).push_back(lines[i]);
      if (!lines[i].contains("refused")) kept.push_back(part[i]);
    }
    next = last;
  }
  // Neighbours in the space must not be neighbours in time, or drift would look like the effect of an axis.
  std::shuffle(good.begin(), good.end(), std::mt19937(flags.seed));
  const std::string missing = missing_values(choice.values, axis_values(kept));
  nlohmann::json head{{"command", command_line()},
                      {"configs",
                       {{"problem", to_string(problem)},
                        {"source_hash", current_source_hash("gemm")},
                        {"compute_capability", limits.compute_capability},
                        {"compiler", compiler.compiler_version()},
                        {"seed", flags.seed},
                        {"kept", good.size()},
                        {"refused", refused.size()},
                        {"missing_values", missing}}}};
  if (!compiler.instructions_fault().empty())
    head["configs"]["instructions_note"] = compiler.instructions_fault();
  std::vector<nlohmann::json> lines{head};
  lines.insert(lines.end(), good.begin(), good.end());
  lines.insert(lines.end(), refused.begin(), refused.end());
  write_list(flags.configs, list_rules, lines);
  std::printf("compile: %zu configs kept, %zu refused (most spill registers); values left out: %s\n",
              good.size(), refused.size(), missing.empty() ? "none" : missing.c_str());
  if (good.size() < flags.count)
    std::printf("compile: %zu configs were wanted, and the space gave no more\n", flags.count);
  if (!compiler.instructions_fault().empty())
    std::printf("compile: instructions were not counted: %s\n", compiler.instructions_fault().c_str());
}

SweepList read_sweep_list(const std::string& path) {
  std::ifstream file(path);
  if (!file) io_fault("--configs", "--configs = '{}' cannot be read", path);
  SweepList list;
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    try {
      const auto line = parse_json(text);
      if (number == 1)
        list.head = line.at("configs");
      else if (!line.contains("refused"))
        list.entries.push_back({from_json<GemmLargeConfig>(line.at("config")),
                                line.value("instructions_per_k_tile", nlohmann::json())});
    } catch (const std::exception& error) {
      io_fault("--configs", "--configs = '{}': line {} cannot be read ({})", path, number, json_fault(error));
    }
  }
  if (list.entries.empty()) io_fault("--configs", "--configs = '{}' lists no config", path);
  return list;
}

}  // namespace bench
}  // namespace tilewright
