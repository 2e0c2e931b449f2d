// Ranges on the time line of a profiler of GPUs, such as Nsight Systems: NVTX, version 3, whose headers alone
// are needed. A program without a profiler pays for one load.
#pragma once

#include <string>

namespace tilewright {

// True if a profiler takes ranges. The first call looks for one.
bool is_profiled() noexcept;

// A range of the calling thread, from here to the end of the scope.
class ProfilerRange {
 public:
  // wanted() and text() are called only if a profiler is attached, text() if the range is wanted.
  template <class Wanted, class Text>
  ProfilerRange(const Wanted& wanted, const Text& text) : is_open_(is_profiled() && wanted()) {
    if (is_open_) open(text());
  }
  ~ProfilerRange() {
    if (is_open_) close();
  }
  ProfilerRange& operator=(ProfilerRange&&) = delete;

 private:
  static void open(const std::string& text) noexcept;
  static void close() noexcept;

  bool is_open_;
};

}  // namespace tilewright
