// The write.
#include "core/host/tell.hpp"

#include <signal.h>
#include <unistd.h>

#include <exception>

#include "core/host/host_state.hpp"
#include "core/input/printable.hpp"

namespace tilewright {
namespace {

// SIGPIPE of the calling thread, kept from the host while this lives: its default ends the process.
class PipeSignal {
 public:
  PipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignal() {
    constexpr timespec at_once{};
    if (!was_pending_) uninterrupted([&] { return sigtimedwait(&pipe_, nullptr, &at_once); });
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignal(const PipeSignal&) = delete;
  PipeSignal& operator=(const PipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

}  // namespace

void tell(std::string_view text) noexcept {
  const KeepErrno before;
  const NoCancel uncancelled;
  const PipeSignal scope;
  try {
    const std::string safe = printable(text, text.size());
    for (std::size_t done = 0; done < safe.size();) {
      const ssize_t wrote =
          uninterrupted([&] { return ::write(STDERR_FILENO, safe.data() + done, safe.size() - done); });
      if (wrote <= 0) return;
      done += std::size_t(wrote);
    }
  } catch (const std::exception&) {  // no memory: nothing is said
  }
}

}  // namespace tilewright
