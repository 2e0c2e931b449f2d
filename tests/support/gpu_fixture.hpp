// The fixture of every test that needs a GPU: skips with the reason if there is none. TILEWRIGHT_GPU_DEVICE
// selects another device than the first.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "device/gpu/gpu.hpp"
#include "support/gpu_batch.hpp"
#include "support/temp_folder.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::testing {

// Caches the kernels that the tests of one program compile for it alone, unless the caller names a folder.
inline void keep_kernels_apart() {
  static const TempFolder folder;
  setenv("TILEWRIGHT_CACHE", folder.path().c_str(), 0);
  setenv("TILEWRIGHT_NOTICES", "off", 0);
}

inline std::int64_t number_from(const char* variable, std::int64_t fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::strtoll(text, nullptr, 10);
}

// Sets a variable of the environment for one scope, which the fake compiler and driver read.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// Returns a function of the fake driver by its name there; null with a real driver.
template <class F>
F ask_fake(const char* name) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<F>(dlsym(library, name));
}

// Returns the fake driver's counter; null with a real driver.
inline auto fake_counter() { return ask_fake<long long (*)(const char*)>("fake_cuda_count"); }
inline bool is_fake() { return fake_counter() != nullptr; }
inline long long fake_count(const char* name) { return fake_counter()(name); }

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    device_ = static_cast<int>(number_from("TILEWRIGHT_GPU_DEVICE", 0));
    if (Gpu::count(reason) <= device_) GTEST_SKIP() << "no GPU: " << reason;
    keep_kernels_apart();
    gpu_ = std::make_unique<Gpu>(device_);
    options_.queue.device = device_;
  }

  // Runs a batch through the public call; returns "" if everything is right.
  template <class T>
  std::string call(Context& context, const GemmProblem& p, const GpuDraw& draw,
                   CUstream_st* stream = nullptr) {
    GpuBatch<T> batch(*gpu_, p, draw);
    GemmOptions options = options_;
    options.queue.stream = stream;
    gemm_batched<T>(context, p.op_a, p.op_b, batch.alpha(), batch.view_a(), batch.view_b(), batch.beta(),
                    batch.view_c(), options);
    gpu_->synchronize();
    return batch.check();
  }

  int device_ = 0;
  std::unique_ptr<Gpu> gpu_;
  GemmOptions options_;
};

// Fixture of calls that may use several GPUs.
class GpusTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    std::string reason;
    for (int device = 0; device < Gpu::count(reason); ++device)
      if (why_too_old(Gpu::limits_of(device)).empty()) usable_.push_back(device);
    if (usable_.empty()) GTEST_SKIP() << "no GPU that kernels run on";
  }

  std::vector<int> usable_;
};

}  // namespace tilewright::testing
