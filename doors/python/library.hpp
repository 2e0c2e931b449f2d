// The package's one Context, made when the first call needs it.
#pragma once

#include <Python.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "lock.hpp"
#include "makers.hpp"
#include "recorder.hpp"
#include "tilewright/context.hpp"

namespace tilewright::python {

// Lives in the module, which is never destroyed; any number of threads may ask for the context.
class Library {
 public:
  Context& context();
  Recorder& recorder() noexcept { return recorder_; }
  Makers& makers() noexcept { return makers_; }
  // True once the package has searched for CUDA's libraries: the first product on a GPU takes the general
  // path, which does it.
  bool cuda_sought() const noexcept { return cuda_sought_; }
  void set_cuda_sought() noexcept { cuda_sought_ = true; }
  // Sets the CBLAS for large matrices; call it before the context is made.
  void set_cblas(std::string path) { cblas_ = std::move(path); }

 private:
  std::once_flag once_;
  std::string cblas_{};
  bool cuda_sought_ = false;
  Recorder recorder_;
  Makers makers_;
  std::unique_ptr<Context> context_;
};

// A call of more multiplications than this releases Python's lock: about ten microseconds of work. For less
// work, releasing and reacquiring the lock costs more than other threads could gain.
inline constexpr double least_work_unlocked = 32768;

}  // namespace tilewright::python
