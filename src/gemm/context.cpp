// Makes a Context: reads the environment, chooses the CPU kernels, finds the wisdom files. Wisdom itself and
// CBLAS are opened by their first user, so that a Context costs microseconds.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/host/stack.hpp"
#include "core/host/tell.hpp"
#include "core/input/printable.hpp"
#include "core/share.hpp"
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

// Whether notices are logged; they are warnings.
bool logs_warnings(const std::string& level) {
  if (level != "" && level != "warn" && level != "off" && level != "info" && level != "debug")
    throw Error(ErrorCode::invalid_argument, "TILEWRIGHT_LOG",
                fmt::format("TILEWRIGHT_LOG = '{}' is not one of off, warn, info, debug", level));
  return level != "off";
}

// Of what the user named. A database may be yet to be made; whether it is one is seen when it is opened.
void require_readable(const std::string& file, const char* argument) {
  std::error_code error;
  if (!is_lines_file(file) && !fs::exists(file, error)) return;
  if (!fs::is_regular_file(file, error) || ::euidaccess(file.c_str(), R_OK) != 0)
    throw Error(ErrorCode::io, argument, fmt::format("{} = '{}' is not a readable file", argument, file));
}

// A variable that is on unless it says off.
bool is_on(const char* name, const std::string& value) {
  if (!value.empty() && value != "on" && value != "off")
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("{} = '{}' is not one of on, off", name, value));
  return value != "off";
}

// Read by the first team, which has no error to give.
void check_team(const std::string& value) {
  if (!value.empty() && value != "auto" && value != "own" && value != "openmp")
    throw Error(ErrorCode::invalid_argument, "TILEWRIGHT_TEAM",
                fmt::format("TILEWRIGHT_TEAM = '{}' is not one of auto, own, openmp", value));
}

bool notices_wanted(const Environment& environment) {
  return is_on("TILEWRIGHT_NOTICES", environment.notices) && logs_warnings(environment.log);
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
  throw Error(ErrorCode::invalid_argument, argument,
              has_it ? fmt::format("{} = '{}' is not available: the operating system forbids generated code",
                                   argument, name)
                     : fmt::format("{} = '{}' is not available: {} or its operating system lacks it",
                                   argument, name, cpu.model));
}

bool operator==(const GemmOptions& x, const GemmOptions& y) {
  const auto fields = [](const GemmOptions& o) {
    return std::tie(o.target, o.objective, o.objective_weight, o.math_mode, o.threads, o.checked, o.residency,
                    o.candidate, o.config, o.queue.device, o.align_bytes, o.alpha_varies, o.beta_varies,
                    o.tune_on_miss.budget_s, o.gpus, o.gpu_memory_bytes, o.split, o.cpu_share,
                    o.on_device_failure);
  };
  return fields(x) == fields(y);
}

Context::Impl::Impl(const ContextOptions& options)
    : environment(Environment::read()),
      asked_cblas(options.cblas),
      small(std::make_shared<SmallKernels>()),
      candidates(gemm_candidates()) {
  logs = logs_warnings(environment.log);
  isa = options.cpu.empty() ? choose_isa(environment.cpu, "TILEWRIGHT_CPU") : choose_isa(options.cpu, "cpu");
  check_team(environment.team);
  no_jit = options.no_jit || !is_on("TILEWRIGHT_JIT", environment.jit);
#if TILEWRIGHT_HAS_GPU
  const std::string cache = cache_folder(environment);
  gpus = std::make_shared<GpuMachines>(share_folder(environment, "kernel"),
                                       cache.empty() ? fs::path() : fs::path(cache) / "kernels",
                                       environment.nvrtc, [this](const std::string& message) {
                                         if (wants_notices) notice(message);
                                       });
#endif
  hybrid = std::make_shared<HybridNode>(machine_gpus(), this);
  wants_notices = notices_wanted(environment) && options.notices;
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

// What the user names and cannot be had is an error, as wisdom is: large products would go to the reference
// without a word.
std::shared_ptr<const CblasLibrary> Context::Impl::cblas() {
  const NoCancel uncancelled;
  const KeepErrno before;
  std::lock_guard lock(mutex_);
  if (cblas_ != nullptr) return cblas_;
  if (environment.cblas.empty() && !asked_cblas.empty()) {
    auto asked = std::make_shared<CblasLibrary>(asked_cblas);
    if (asked->available()) return cblas_ = std::move(asked);
    if (wants_notices) add_notice(asked->error() + "; products of large matrices use what else is found", "");
  }
  auto found = std::make_shared<CblasLibrary>(environment.cblas);
  if (!found->available() && !environment.cblas.empty() && environment.cblas != "none")
    throw Error(ErrorCode::io, "TILEWRIGHT_CBLAS",
                fmt::format("TILEWRIGHT_CBLAS = '{}' cannot be used: {}", environment.cblas, found->error()));
  return cblas_ = std::move(found);
}

void Context::Impl::notice(const std::string& message, const std::string& about) {
  const NoCancel uncancelled;
  std::lock_guard lock(mutex_);
  add_notice(message, about);
}

// A program that runs for months and meets new problems all the time needs no more memory for them.
void Context::Impl::add_notice(const std::string& message, const std::string& about) {
  constexpr std::size_t most = 1000;
  if (notices_.size() >= most || !noticed_.insert(about.empty() ? message : about).second) return;
  const bool is_last = notices_.size() + 1 == most;
  notices_.push_back(is_last ? fmt::format("this is notice {}, and the last one of this Context", most)
                             : printable(message));
  if (logs) tell("tilewright: " + notices_.back() + "\n");
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
