// Writes the library's unsolicited messages to stderr. The callers decide whether to write.
#pragma once

#include <unistd.h>

#include <string_view>

#include "core/host/host_state.hpp"
#include "core/input/printable.hpp"

namespace tilewright {

// Writes `text`, made printable, to descriptor 2, past stdio's locks, without SIGPIPE; errno is preserved.
inline void tell(std::string_view text) noexcept {
  const KeepErrno before;
  const NoCancel uncancelled;
  const HeldSignal pipe(SIGPIPE);
  try {
    const std::string safe = printable(text, text.size());
    for (std::size_t done = 0; done < safe.size();) {
      const ssize_t wrote =
          uninterrupted([&] { return ::write(STDERR_FILENO, safe.data() + done, safe.size() - done); });
      if (wrote <= 0) return;
      done += std::size_t(wrote);
    }
  } catch (const std::exception&) {  // no memory: nothing is written
  }
}

}  // namespace tilewright
