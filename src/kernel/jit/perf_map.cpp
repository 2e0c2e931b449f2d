// Appends whole lines, so that threads need no lock and a child process starts a map of its own.
#include "kernel/jit/perf_map.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/env.hpp"
#include "core/host/host_state.hpp"

namespace tilewright {

void name_for_perf(const void* code, std::size_t bytes, const std::string& name) noexcept {
  if (code == nullptr || bytes == 0 || !wants_perf_map()) return;
  const KeepErrno before;
  const NoCancel uncancelled;
  try {
    const std::string line =
        fmt::format("{:x} {:x} {}\n", reinterpret_cast<std::uintptr_t>(code), bytes, name);
    const std::string path = fmt::format("/tmp/perf-{}.map", ::getpid());
    // Others may write to /tmp: a link is not followed.
    const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file == -1) return;
    (void)!::write(file, line.data(), line.size());
    (void)::close(file);
  } catch (const std::exception&) {  // no memory: the code has no name
  }
}

}  // namespace tilewright
