// The verb info: what this machine is and what was found on it, for people and as one JSON object; --measure
// renews the ceilings that bounds are computed from.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>

#include "core/env.hpp"
#include "core/quantity.hpp"
#include "device/cpu.hpp"
#include "device/gpu/gpu.hpp"
#include "device/gpu/nvml.hpp"
#include "device/gpu/nvrtc.hpp"
#include "device/team.hpp"
#include "gemm/context_impl.hpp"
#include "kernel/jit/x86.hpp"
#include "lists.hpp"
#include "measure/ceilings.hpp"
#include "output/json_lines.hpp"
#include "peers/peer.hpp"
#include "people/refusal.hpp"
#include "people/table.hpp"
#include "tilewright/context.hpp"
#include "verbs.hpp"
#include "wisdom/kept.hpp"

#if TILEWRIGHT_HAS_GPU
#include "bench/gpu/machine.hpp"
#endif

namespace tilewright::cli {

namespace {

constexpr const char* no_folder =
    "no folder: TILEWRIGHT_CACHE, XDG_CACHE_HOME and HOME name none by an absolute path";
constexpr const char* no_file =
    "no folder: TILEWRIGHT_WISDOM, XDG_DATA_HOME and HOME name none by an absolute path";

struct InfoFlags {
  bool measure = false, environment = false;
  int threads = 0;
  std::string megabytes = "1024";
  std::string json;
};

// Every environment variable with its value (null if it is not set), default and meaning.
nlohmann::json environment_json() {
  nlohmann::json all = nlohmann::json::array();
  for (const EnvironmentVariable& one : environment_variables()) {
    const char* value = ::secure_getenv(one.name);
    all.push_back({{"name", one.name},
                   {"value", value == nullptr ? nlohmann::json() : nlohmann::json(value)},
                   {"default", one.fallback},
                   {"meaning", one.meaning}});
  }
  return {{"environment", all}};
}

void print_environment(std::FILE* out, const nlohmann::json& environment) {
  for (const auto& one : environment.at("environment")) {
    const auto fallback = one["default"].get<std::string>();
    const std::string value =
        one["value"].is_null() ? "not set" : fmt::format("'{}'", one["value"].get<std::string>());
    fmt::print(out, "{}: {} (default: {})\n{}\n", one["name"].get<std::string>(), value,
               fallback.empty() ? "empty" : fallback,
               people::wrapped("    " + one["meaning"].get<std::string>(), 4));
  }
  fmt::print(out,
             "Programs with more rights than their caller (set-user-ID) read none of them; OpenMP's runtime\n"
             "reads its own.\n");
}

std::vector<int> thread_counts_of(const InfoFlags& flags) {
  if (flags.threads > 0) return {flags.threads};
  const int most = omp_get_max_threads();
  return most == 1 ? std::vector{1} : std::vector{1, most};
}

// The measurements of this run that could not be kept, which are shown all the same, and why some are
// distrusted.
struct Measured {
  std::vector<Ceilings> cpu;
  std::vector<GpuCeilings> gpus;
  std::string disturbance;
};

bool keep(const std::string& path, const std::function<void()>& save) {
  if (path.empty()) return false;  // there is no folder, as the report says
  try {
    save();
    return true;
  } catch (const Error& error) {
    fmt::print(stderr, "tilewright: these ceilings are not kept: {}\n", error.what());
    return false;
  }
}

// Measures each kind of GPU that the kernels run on. A GPU that fails is reported and skipped: the CPU's
// ceilings are kept by then.
void measure_gpus(const InfoFlags& flags, const std::string& path, Measured& measured) {
#if TILEWRIGHT_HAS_GPU
  const auto bytes = std::size_t(parse_count("--megabytes", flags.megabytes, 1)) << 20;
  Context context({.notices = false});
  std::set<std::string> done;
  std::string none;
  for (int device = 0; device < Gpu::count(none); ++device) {
    const GpuLimits limits = Gpu::limits_of(device);
    if (!why_too_old(limits).empty() || !done.insert(limits.name).second) continue;
    fmt::print(stderr, "measuring ceilings of GPU {} ({})\n", device, limits.name);
    GpuCeilings ceilings;
    try {
      ceilings = bench::measure_gpu_ceilings(*Access::impl(context).gpus->open(device), bytes);
    } catch (const Error& error) {
      fmt::print(stderr, "GPU {} ({}) has no ceilings: {}\n", device, limits.name, error.what());
      continue;
    }
    if (!keep(path, [&] { save_gpu_ceilings(path, ceilings); })) measured.gpus.push_back(ceilings);
  }
#else
  (void)flags, (void)path, (void)measured;
#endif
}

// Again where others were at work, which shows in rates below those of fewer threads; the best of all tries.
Ceilings measure_undisturbed(int threads, Arena& arena, const std::optional<Ceilings>& fewer) {
  constexpr int tries = 3;
  Ceilings best = measure_ceilings(threads, arena);
  for (int i = 1; i < tries && fewer && !disturbance(best, *fewer).empty(); ++i)
    raise_to(best, measure_ceilings(threads, arena));
  return best;
}

Measured measure(const InfoFlags& flags, const std::string& path) {
  Measured measured;
  Arena arena;
  auto fewer = load_ceilings(path, cpu_info().device, 1);
  for (const int threads : thread_counts_of(flags)) {
    fmt::print(stderr, "measuring ceilings with {} (some seconds)\n", counted(threads, "thread"));
    if (threads == 1) fewer.reset();
    Ceilings ceilings = measure_undisturbed(threads, arena, fewer);
    if (fewer) {
      measured.disturbance = disturbance(ceilings, *fewer);
      if (!measured.disturbance.empty()) continue;
      raise_to(ceilings, *fewer);
    }
    if (!keep(path, [&] { save_ceilings(path, ceilings); })) measured.cpu.push_back(ceilings);
    fewer = ceilings;
  }
  measure_gpus(flags, path, measured);
  return measured;
}

// The ceilings that `is_asked` says yes to as they are kept, or as this run measured them in vain.
template <class AnyCeilings, class F>
std::optional<AnyCeilings> newest(const std::vector<AnyCeilings>& measured, std::optional<AnyCeilings> kept,
                                  F&& is_asked) {
  const auto now = std::find_if(measured.begin(), measured.end(), is_asked);
  return now == measured.end() ? std::move(kept) : std::optional<AnyCeilings>(*now);
}

void add_ceilings(nlohmann::json& json, const std::string& path, const Measured& measured) {
  json["ceilings_path"] = path;
  json["ceilings_kept"] = measured.cpu.empty() && measured.gpus.empty();
  json["ceilings_note"] =
      measured.disturbance.empty()
          ? nlohmann::json()
          : nlohmann::json("not kept, because other work disturbed it: " + measured.disturbance);
  json["ceilings"] = json["gpu_ceilings"] = nlohmann::json::array();
  std::set<std::string> kinds;
  for (const auto& gpu : json["gpus"])
    if (const auto name = gpu["name"].get<std::string>(); kinds.insert(name).second)
      if (const auto one = newest(measured.gpus, load_gpu_ceilings(path, name),
                                  [&](const GpuCeilings& c) { return c.device == name; }))
        json["gpu_ceilings"].push_back(to_json(*one));
  for (const int threads : thread_counts_of({}))
    if (const auto one = newest(measured.cpu, load_ceilings(path, cpu_info().device, threads),
                                [&](const Ceilings& c) { return c.threads == threads; }))
      json["ceilings"].push_back(to_json(*one));
}

// The CBLAS that large products go to, and the peers that bench can compare with tilewright.
nlohmann::json libraries(Context& context, const peers::PeerSearch& search) {
  const auto cblas = Access::impl(context).cblas();
  nlohmann::json json;
  json["cblas"] = cblas->available() ? nlohmann::json(cblas->name()) : nlohmann::json();
  json["cblas_error"] = cblas->available() ? nlohmann::json() : nlohmann::json(cblas->error());
  json["hwloc"] = TILEWRIGHT_HWLOC_VERSION;
  json["peers"] = json["missing"] = nlohmann::json::object();
  for (const auto& peer : search.found) json["peers"][peer->name()] = peer->version();
  for (const auto& missing : search.missing) json["missing"][missing.name] = missing.reason;
  return json;
}

// The meters that answer, and what each covers; tuning with an objective of energy reads them.
nlohmann::json energy_meters(const EnergyMeters& found) {
  nlohmann::json meters = nlohmann::json::array();
  for (const auto& meter : found.meters)
    meters.push_back(fmt::format("{} ({})", meter->name(), meter->covers().text()));
  return meters;
}

nlohmann::json instruction_sets() {
  nlohmann::json sets = nlohmann::json::array({"portable"});
  if (jit_available(Isa::avx2)) sets.push_back("avx2");
  if (jit_available(Isa::avx512)) sets.push_back("avx512");
  return sets;
}

#if TILEWRIGHT_HAS_GPU
// One GPU as far as it tells of itself; nothing is set up on it.
nlohmann::json gpu_json(const GpuLimits& limits) {
  nlohmann::json gpu = {{"name", limits.name},
                        {"uuid", limits.uuid},
                        {"compute_capability", limits.compute_capability},
                        {"multiprocessors", limits.multiprocessors},
                        {"memory_bytes", limits.memory_bytes},
                        {"l2_bytes", limits.l2_bytes},
                        {"shared_bytes_per_block", limits.shared_bytes_per_block},
                        {"shared_bytes_per_multiprocessor", limits.shared_bytes_per_multiprocessor},
                        {"threads_per_multiprocessor", limits.threads_per_multiprocessor},
                        {"registers_per_multiprocessor", limits.registers_per_multiprocessor},
                        {"driver_api", limits.driver_version}};
  try {
    const Nvml nvml(limits.uuid);
    const GpuReadings readings = nvml.read();
    gpu["driver"] = nvml.driver_version();
    gpu["clock_mhz"] = readings.clock_mhz ? nlohmann::json(*readings.clock_mhz) : nlohmann::json();
    gpu["temperature_c"] =
        readings.temperature_c ? nlohmann::json(*readings.temperature_c) : nlohmann::json();
    gpu["has_energy"] = readings.energy_j.has_value();
    gpu["nvml_note"] = nullptr;
  } catch (const Error& error) {
    gpu["driver"] = gpu["clock_mhz"] = gpu["temperature_c"] = nullptr;
    gpu["has_energy"] = false;
    gpu["nvml_note"] = error.what();
  }
  return gpu;
}
#endif

// The GPUs, or why there are none, the compiler for their kernels, and where both are kept.
void add_gpus(nlohmann::json& json) {
  json["gpus"] = nlohmann::json::array();
#if TILEWRIGHT_HAS_GPU
  std::string reason;
  const int count = Gpu::count(reason);
  for (int device = 0; device < count; ++device) json["gpus"].push_back(gpu_json(Gpu::limits_of(device)));
  json["gpus_note"] = count > 0 ? nlohmann::json() : nlohmann::json(reason);
  try {
    const Nvrtc compiler(Environment::read().nvrtc);
    json["gpu_compiler"] = compiler.version() + " (" + compiler.path() + ")";
  } catch (const Error& error) {
    json["gpu_compiler"] = nullptr;
    json["gpu_compiler_error"] = error.what();
  }
  const Environment environment = Environment::read();
  const std::string cache = cache_folder(environment);
  json["gpu_kernel_sources"] = share_folder(environment, "kernel");
  json["gpu_kernel_cache"] = cache.empty() ? "" : cache + "/kernels";
#else
  json["gpus_note"] = "this build has no GPU runtime";
#endif
}

nlohmann::json gather(const std::string& path, const Measured& measured) {
  const CpuInfo& cpu = cpu_info();
  const auto search = peers::find_peers();  // first: it prepares the environment of the libraries it loads
  Context context;
  nlohmann::json json = {{"version", TILEWRIGHT_VERSION},
                         {"device", cpu.device},
                         {"isa", to_string(Access::impl(context).isa)},
                         {"isa_available", instruction_sets()},
                         {"avx2_fma", cpu.avx2_fma},
                         {"avx512", cpu.avx512},
                         {"cores", cpu.cores},
                         {"threads", omp_get_max_threads()},
                         {"l1d_bytes", cpu.l1d_bytes},
                         {"l2_bytes", cpu.l2_bytes},
                         {"l3_bytes", cpu.l3_bytes},
                         {"numa_nodes", cpu.numa_nodes}};
  add_gpus(json);
  json["libraries"] = libraries(context, search);
  const EnergyMeters meters = find_energy_meters();
  json["energy_meters"] = energy_meters(meters);
  json["energy_note"] = meters.meters.empty() ? nlohmann::json(meters.why_none()) : nlohmann::json();
  json["wisdom"] = Access::impl(context).wisdom_files;
  add_ceilings(json, path, measured);
  return json;
}

std::string size_text(const nlohmann::json& bytes) {
  const auto value = bytes.get<std::int64_t>();
  if (value <= 0) return "unknown";
  return value % (1 << 20) == 0 ? fmt::format("{} MiB", value >> 20) : fmt::format("{} KiB", value >> 10);
}

std::string list_text(const nlohmann::json& list, const std::string& none) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + item.get<std::string>();
  return text.empty() ? none : text;
}

void print_libraries(std::FILE* out, const nlohmann::json& found) {
  const auto& cblas = found["cblas"].is_null() ? found["cblas_error"] : found["cblas"];
  fmt::print(out, "CBLAS         {}\n", cblas.get<std::string>());
  fmt::print(out, "hwloc         {}\n", found["hwloc"].get<std::string>());
  std::string text;
  for (const auto& [name, version] : found["peers"].items())
    text += (text.empty() ? "" : ", ") + name + " " + version.get<std::string>();
  fmt::print(out, "peers         {}\n", text);
  for (const auto& [name, reason] : found["missing"].items())
    fmt::print(out, "not found     {}: {}\n", name, reason.get<std::string>());
}

void print_ceilings(std::FILE* out, const nlohmann::json& info) {
  if (info["ceilings"].empty())
    fmt::print(out, "ceilings      none measured yet: tilewright info --measure\n");
  for (const auto& one : info["ceilings"]) {
    const auto c = from_json<Ceilings>(one);
    fmt::print(out,
               "ceilings      {}: FMA {:.1f} f64, {:.1f} f32 GFLOP/s; memory read {:.1f}, update "
               "{:.1f}, write "
               "{:.1f} GB/s; L2 update {:.1f}, write {:.1f} GB/s ({})\n",
               counted(c.threads, "thread"), c.compute_gflops(DType::f64), c.compute_gflops(DType::f32),
               c.memory_read, c.memory_update, c.memory_write, c.l2_update, c.l2_write, c.time);
  }
  for (const auto& one : info["gpu_ceilings"]) {
    const auto c = from_json<GpuCeilings>(one);
    fmt::print(out,
               "ceilings      {}: multiply-add {:.0f} f64, {:.0f} f32 GFLOP/s; memory update {:.0f}, write "
               "{:.0f} GB/s "
               "({})\n",
               c.device, c.multiply_f64, c.multiply_f32, c.memory_update, c.memory_write, c.time);
  }
  if (!info["ceilings_note"].is_null())
    fmt::print(out, "              {}; measure again while the machine is idle\n",
               info["ceilings_note"].get<std::string>());
  if (!info["gpus"].empty() && info["gpu_ceilings"].empty())
    fmt::print(out, "GPU ceilings  none measured yet: tilewright info --measure\n");
  const auto path = info["ceilings_path"].get<std::string>();
  if (info["ceilings_kept"].get<bool>())
    fmt::print(out, "kept in       {}\n", path.empty() ? no_file : path);
  else
    fmt::print(out, "              measured now and not kept, as said above\n");
}

void print(std::FILE* out, const nlohmann::json& info) {
  fmt::print(out, "tilewright    {}\n", TILEWRIGHT_VERSION);
  fmt::print(out, "CPU           {}\n", info["device"].get<std::string>());
  fmt::print(out, "kernels       {} (this machine runs {})\n", info["isa"].get<std::string>(),
             list_text(info["isa_available"], "none"));
  fmt::print(out, "cores         {}, {} OpenMP threads\n", info["cores"].get<int>(),
             info["threads"].get<int>());
  fmt::print(out, "caches        L1d {}, L2 {}, L3 {}\n", size_text(info["l1d_bytes"]),
             size_text(info["l2_bytes"]), size_text(info["l3_bytes"]));
  fmt::print(out, "NUMA nodes    {}\n", info["numa_nodes"].get<int>());
  for (const auto& gpu : info["gpus"]) {
    fmt::print(out, "GPU           {} (sm_{}, {} multiprocessors, {} GiB, L2 {}, {} KiB shared per block)\n",
               gpu["name"].get<std::string>(), gpu["compute_capability"].get<int>(),
               gpu["multiprocessors"].get<int>(), gpu["memory_bytes"].get<std::int64_t>() >> 30,
               size_text(gpu["l2_bytes"]), gpu["shared_bytes_per_block"].get<int>() >> 10);
    fmt::print(out, "              driver {} (API {}), energy {}\n",
               gpu["driver"].is_null() ? "unknown" : gpu["driver"].get<std::string>(),
               gpu["driver_api"].get<std::string>(),
               gpu["has_energy"].get<bool>() ? "counted"
               : gpu["nvml_note"].is_null()  ? "not counted"
                                             : "unknown: " + gpu["nvml_note"].get<std::string>());
  }
  if (info["gpus"].empty()) fmt::print(out, "GPUs          none: {}\n", info["gpus_note"].get<std::string>());
  if (info.contains("gpu_compiler") && !info["gpu_compiler"].is_null())
    fmt::print(out, "GPU compiler  {}\n", info["gpu_compiler"].get<std::string>());
  if (info.contains("gpu_compiler_error"))
    fmt::print(out, "GPU compiler  none: {}\n", info["gpu_compiler_error"].get<std::string>());
  if (info.contains("gpu_kernel_cache"))
    fmt::print(out, "GPU kernels   from {}, kept in {}\n", info["gpu_kernel_sources"].get<std::string>(),
               info["gpu_kernel_cache"] == "" ? no_folder : info["gpu_kernel_cache"].get<std::string>());
  print_libraries(out, info["libraries"]);
  fmt::print(
      out, "energy        {}\n",
      list_text(
          info["energy_meters"],
          "none" + (info["energy_note"].is_null() ? "" : ": " + info["energy_note"].get<std::string>())));
  fmt::print(out, "wisdom        {}\n", list_text(info["wisdom"], "none found"));
  print_ceilings(out, info);
}

void print_wrapped(const nlohmann::json& info) {
  constexpr std::size_t label_width = 14;
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const memory = ::open_memstream(&text, &size);
  if (memory == nullptr) return print(stdout, info);
  print(memory, info);
  (void)std::fclose(memory);
  fmt::print("{}", people::wrapped({text, size}, label_width));
  std::free(text);
}

void run(const InfoFlags& flags) {
  if (flags.environment) {
    JsonLines json(flags.json);
    const auto environment = environment_json();
    if (json.people() == stdout) print_environment(stdout, environment);
    return json.write(environment);
  }
  if (!flags.measure && (flags.threads > 0 || flags.megabytes != InfoFlags().megabytes))
    wrong_use(flags.threads > 0 ? "--threads" : "--megabytes", "{} needs --measure",
              flags.threads > 0 ? "--threads" : "--megabytes");
  const std::string path = kept_path(Environment::read());
  JsonLines json(flags.json);
  const auto info = gather(path, flags.measure ? measure(flags, path) : Measured());
  if (json.people() == stdout) print_wrapped(info);
  json.write(info);
}

}  // namespace

void add_info(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("info", "Show the machine, the libraries found on it, and its measured ceilings");
  auto flags = std::make_shared<InfoFlags>();
  verb->add_flag("--measure", flags->measure, "measure the ceilings anew and keep them");
  verb->add_flag("--environment", flags->environment,
                 "list every environment variable with its value, default and meaning, and nothing else")
      ->excludes("--measure");
  verb->add_option("--threads", flags->threads, "measure with this many threads only (default: 1 and all)")
      ->check(whole_number(1, most_threads));
  verb->add_option("--megabytes", flags->megabytes, "size of each operand of a GPU's ceilings")
      ->capture_default_str();
  verb->add_option("--json", flags->json, "write one JSON object (- is stdout)");
  verb->footer("Example: tilewright info --measure");
  verb->callback([flags] { run(*flags); });
}

}  // namespace tilewright::cli
