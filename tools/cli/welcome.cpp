// Prints the output of `tilewright` without a verb: the machine in a line, and the first steps to try on it
// with their reasons, based on the machine and earlier measurements. It measures nothing.
#include <fmt/format.h>
#include <omp.h>

#include <filesystem>

#include "core/env.hpp"
#include "core/share.hpp"
#include "device/cpu.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/plan.hpp"
#include "verbs.hpp"
#include "wisdom/kept.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/gpu.hpp"
#endif

namespace tilewright::cli {

namespace {

// Returns the name of the first GPU that can run kernels, or sets the reason why there is none.
std::string first_gpu(std::string& reason) {
#if TILEWRIGHT_HAS_GPU
  const int count = Gpu::count(reason);
  for (int device = 0; device < count; ++device) {
    const GpuLimits limits = Gpu::limits_of(device);
    if (reason = why_too_old(limits); reason.empty()) return limits.name;
  }
#else
  reason = "this build has no GPU runtime";
#endif
  return "";
}

void suggest(const std::string& command, const std::string& why) {
  fmt::print("  tilewright {:<52} {}\n", command, why);
}

// Returns how well wisdom knows a common problem on this CPU.
WisdomMatch match_of_a_usual_problem(Context& context) {
  const auto usual =
      parse_problem("gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1e6:beta=one:residency=cold");
  return make_plan(Access::impl(context), usual, {}, !Access::impl(context).no_jit)->known.match;
}

// Returns the index of the documentation: in a build tree that of the sources, otherwise the installed one;
// empty if there is none.
std::string pages(const Environment& environment) {
  const std::filesystem::path share = share_folder(environment, "wisdom");
  for (const char* folder : {"docs", TILEWRIGHT_INSTALLED_DOCS}) {
    const auto page = (share / folder / "README.md").lexically_normal();
    std::error_code none;
    if (std::filesystem::exists(page, none)) return page.string();
  }
  return "";
}

}  // namespace

void print_welcome() {
  Context context({.notices = false});
  const CpuInfo& cpu = cpu_info();
  const Environment environment = Environment::read();
  std::string no_gpu;
  const std::string gpu = first_gpu(no_gpu);
  fmt::print("tilewright {} on {}, {} kernels, {} threads; {}\n\nTry first:\n", TILEWRIGHT_VERSION, cpu.model,
             to_string(Access::impl(context).isa), omp_get_max_threads(),
             gpu.empty() ? "no GPU: " + no_gpu : gpu);
  suggest("gemm A.npy B.npy -o C.npy --verify", "multiply two files of NumPy, or two batches of matrices");
  if (!load_ceilings(kept_path(environment), cpu.device, 1))
    suggest("info --measure", "once: what this machine can do at most; later reports say the share reached");
  if (match_of_a_usual_problem(context) != WisdomMatch::exact)
    suggest("tune --sizes 2:16 --residency cold,l2 --budget 10min",
            "nothing was measured on this kind of CPU yet: plans follow others or a rule of thumb");
  suggest("bench --sizes 4,8,16", "small batches beside the libraries that were found here");
  if (gpu.empty()) {
    suggest("explain gemm:f64:nn:m=4096,n=4096,k=4096", "who would multiply large matrices, and why");
  } else {
    suggest("calibrate", "once: models by which large products go to the CPU, the GPU or both");
    suggest("bench gemm_small --sizes 4,8,16", "small batches in device memory beside cuBLAS");
    suggest("bench gemm --sizes 1024,4096", "large products there");
  }
  const std::string index = pages(environment);
  fmt::print("\nAll verbs: tilewright --help.{}\n", index.empty() ? "" : " Pages by task: " + index);
}

}  // namespace tilewright::cli
