// Makes a Context in microseconds: wisdom and CBLAS are opened at their first use.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/env.hpp"
#include "core/host/stack.hpp"
#include "core/host/tell.hpp"
#include "core/input/printable.hpp"
#include "core/refuse.hpp"
#include "device/cpu.hpp"
#include "gemm/candidate.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/cpu_small/kernels.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/plan.hpp"
#if TILEWRIGHT_HAS_GPU
#include "gemm/device/machine.hpp"
#endif
#include "kernel/jit/x86.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

void check_value(const char* name, const std::string& value, std::initializer_list<const char*> allowed) {
  if (value.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  refuse_argument(name, fmt::format("{} = '{}' is not one of {}", name, value, fmt::join(allowed, ", ")));
}

// A variable that is on unless it is off.
bool is_on(const char* name, const std::string& value, std::initializer_list<const char*> allowed) {
  check_value(name, value, allowed);
  return value != "off";
}
// True if notices are printed: a program that does not ask for them gets none.
bool prints_notices(const Environment& environment) {
  if (!is_on("TILEWRIGHT_LOG", environment.log, {"off", "warn", "info", "debug"})) return false;
  const bool is_verbose = !environment.verbose.empty() && environment.verbose != "0";
  return !environment.log.empty() || environment.notices == "on" || is_verbose;
}

// Checks a wisdom file that the user named. A database may not exist yet; opening it checks its contents.
void require_readable(const std::string& file, const char* argument) {
  std::error_code error;
  if (!is_lines_file(file) && !fs::exists(file, error)) return;
  if (!fs::is_regular_file(file, error) || ::euidaccess(file.c_str(), R_OK) != 0)
    throw Error(ErrorCode::io, argument, fmt::format("{} = '{}' is not a readable file", argument, file));
}

}  // namespace

Isa choose_isa(const std::string& name, const char* argument) {
  if (name.empty()) {
    for (Isa isa : {Isa::avx512, Isa::avx2})
      if (jit_available(isa)) return isa;
    return Isa::portable;
  }
  const Isa isa = enum_from_string<Isa>(name, argument);
  if (isa == Isa::portable || jit_available(isa)) return isa;
  const CpuInfo& cpu = cpu_info();
  const bool has_it = isa == Isa::avx512 ? cpu.avx512 : cpu.avx2_fma;
  refuse_argument(
      argument, has_it
                    ? fmt::format("{} = '{}' is not available: the operating system forbids generated code",
                                  argument, name)
                    : fmt::format("{} = '{}' is not available: {} or its operating system lacks it", argument,
                                  name, cpu.model));
}

bool operator==(const GemmOptions& x, const GemmOptions& y) {
  const auto fields = [](const GemmOptions& o) {
    return std::tie(o.target, o.objective, o.objective_weight, o.math_mode, o.threads, o.checked, o.residency,
                    o.arrival, o.candidate, o.config, o.queue.device, o.align_bytes, o.tune_on_miss_s, o.gpus,
                    o.gpu_memory_bytes, o.split, o.cpu_share, o.on_device_failure, o.learn);
  };
  return fields(x) == fields(y);
}

Context::Impl::Impl(const ContextOptions& options)
    : environment(Environment::read()),
      asked_cblas(options.cblas),
      on_notice(options.on_notice),
      small(std::make_shared<SmallKernels>()),
      candidates(gemm_candidates()) {
  logs = prints_notices(environment);
  tells_plans = environment.verbose == "2" || environment.verbose == "3";
  isa = options.cpu.empty() ? choose_isa(environment.cpu, "TILEWRIGHT_CPU") : choose_isa(options.cpu, "cpu");
  check_value("TILEWRIGHT_TEAM", environment.team, {"auto", "own", "openmp"});  // the first team cannot throw
  learns = is_on("TILEWRIGHT_LEARN", environment.learn, {"off", "calls"}) && environment.learn == "calls";
  check_value("TILEWRIGHT_ARRIVAL", environment.arrival, {"back_to_back", "idle"});
  no_jit = options.no_jit || !is_on("TILEWRIGHT_JIT", environment.jit, {"on", "off"});
#if TILEWRIGHT_HAS_GPU
  const std::string cache = cache_folder(environment);
  gpus = std::make_shared<GpuMachines>(share_folder(environment, "kernel"),
                                       cache.empty() ? fs::path() : fs::path(cache) / "kernels",
                                       environment.nvrtc, [this](const std::string& message) {
                                         if (wants_notices) notice(message);
                                       });
#endif
  hybrid = std::make_shared<HybridNode>(machine_gpus(), this);
  wants_notices = is_on("TILEWRIGHT_NOTICES", environment.notices, {"on", "off"}) &&
                  environment.log != "off" && options.notices;
  if (!options.use_wisdom) return;
  wisdom_notices = wants_notices;
  const std::string file =
      options.wisdom.empty() ? user_wisdom_path(environment) : absolute_path(options.wisdom);
  const bool named = !options.wisdom.empty() || !environment.wisdom.empty();
  if (named) require_readable(file, options.wisdom.empty() ? "TILEWRIGHT_WISDOM" : "wisdom");
  own_wisdom = file;
  std::vector<WisdomFile> files = wisdom_in_use({file, named}, environment);
  for (const WisdomFile& one : files) wisdom_files.push_back(one.path);
  wisdom_ = std::make_unique<Wisdom>(std::move(files), cpu_info().device,
                                     [this](const std::string& message) { notice(message); });
}

Context::Impl::~Impl() {
  hybrid->leave();
#if TILEWRIGHT_HAS_GPU
  gpus->forget_report();
#endif
}

void Context::Impl::forget_host_plans() {
  plans.forget_if([](const GemmPlan::Impl& plan) { return plan.problem.location == Location::host; });
  small->clear();
}
void Context::Impl::clear_plan_cache() {
  for (GemmPlans* const cache : {&plans, &part_plans})
    cache->forget_if([](const GemmPlan::Impl&) { return true; });
  small->clear();
}

// A named library that cannot be used is an error: large products would silently go to the reference.
std::shared_ptr<const CblasLibrary> Context::Impl::cblas() {
  const NoCancel uncancelled;
  const KeepErrno before;
  std::unique_lock lock(mutex_);
  if (cblas_ != nullptr) return cblas_;
  if (environment.cblas.empty() && !asked_cblas.empty()) {
    auto asked = std::make_shared<CblasLibrary>(asked_cblas);
    if (asked->available()) return cblas_ = std::move(asked);
    lock.unlock();
    if (wants_notices) notice(asked->error() + "; products of large matrices use other implementations");
    lock.lock();
    if (cblas_ != nullptr) return cblas_;
  }
  auto found = std::make_shared<CblasLibrary>(environment.cblas);
  if (!found->available() && !environment.cblas.empty() && environment.cblas != "none")
    throw Error(ErrorCode::io, "TILEWRIGHT_CBLAS",
                fmt::format("TILEWRIGHT_CBLAS = '{}' cannot be used: {}", environment.cblas, found->error()));
  return cblas_ = std::move(found);
}

void Context::Impl::notice(const std::string& message, const std::string& about) {
  const NoCancel uncancelled;
  std::string said;
  {
    std::lock_guard lock(mutex_);
    said = add_notice(message, about);
  }
  if (!said.empty() && on_notice != nullptr) on_notice(said);
}

// The number of notices is bounded: a program may run for months and meet new problems all the time.
std::string Context::Impl::add_notice(const std::string& message, const std::string& about) {
  constexpr std::size_t most = 1000;
  if (notices_.size() >= most || !noticed_.insert(about.empty() ? message : about).second) return "";
  const bool is_last = notices_.size() + 1 == most;
  notices_.push_back(is_last ? fmt::format("notice {} of this Context is its last one", most)
                             : printable(message));
  if (logs) tell("tilewright: " + notices_.back() + "\n");
  return notices_.back();
}

std::vector<std::string> Context::Impl::notices() const {
  std::lock_guard lock(mutex_);
  return notices_;
}

Context::Context(const ContextOptions& options)
    : impl_(at_ease([&] { return std::make_unique<Impl>(options); })) {}
Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

std::string Context::cpu() const { return to_string(impl_->isa); }
std::string Context::wisdom() const { return impl_->own_wisdom; }
int Context::gpu_count() const { return int(impl_->hybrid->gpus().size()); }
void Context::clear_plan_cache() { impl_->clear_plan_cache(); }
void Context::set_tuner(TuneHook tuner) { impl_->misses.tuner = std::move(tuner); }

}  // namespace tilewright
