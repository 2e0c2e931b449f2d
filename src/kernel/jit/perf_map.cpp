// Appends whole lines, so that threads need no lock and a child process starts a map of its own.
#include "kernel/jit/perf_map.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/env.hpp"
#include "core/host/host_state.hpp"

namespace tilewright {
namespace {

void name_for_perf(const GemmSmallCpuKernel& kernel, const GemmProblem& problem) noexcept {
  const std::int64_t bytes = kernel.counts().code_bytes;
  if (bytes == 0 || !wants_perf_map()) return;
  const KeepErrno before;
  const NoCancel uncancelled;
  try {
    const std::string line =
        fmt::format("{:x} {:x} tilewright {}\n", reinterpret_cast<std::uintptr_t>(kernel.function()), bytes,
                    to_string(problem));
    const std::string path = fmt::format("/tmp/perf-{}.map", ::getpid());
    // Others may write to /tmp: a link is not followed.
    const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file == -1) return;
    (void)!::write(file, line.data(), line.size());
    (void)::close(file);
  } catch (const std::exception&) {  // no memory: the code has no name
  }
}

}  // namespace

std::shared_ptr<const GemmSmallCpuKernel> make_named_kernel(const GemmProblem& problem,
                                                            const GemmSmallCpuConfig& config) {
  auto kernel = make_gemm_small_cpu(problem, config);
  name_for_perf(*kernel, problem);
  return kernel;
}

}  // namespace tilewright
