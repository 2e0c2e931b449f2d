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

// Lives in the module, which never goes away; any number of threads may ask for the context.
class Library {
 public:
  Context& context();
  Recorder& recorder() noexcept { return recorder_; }
  Makers& makers() noexcept { return makers_; }
  // Whether what CUDA needs has been looked for: the first product on a GPU goes the long way, which does it.
  bool cuda_sought() const noexcept { return cuda_sought_; }
  void set_cuda_sought() noexcept { cuda_sought_ = true; }
  // The CBLAS for large matrices, to be named before the context is made.
  void set_cblas(std::string path) { cblas_ = std::move(path); }

 private:
  std::once_flag once_;
  std::string cblas_{};
  bool cuda_sought_ = false;
  Recorder recorder_;
  Makers makers_;
  std::unique_ptr<Context> context_;
};

// Multiplications above which a call gives up Python's lock: some ten microseconds of work. Below, giving it
// up and waiting for it again costs more than others could gain.
inline constexpr double least_work_unlocked = 32768;

}  // namespace tilewright::python
