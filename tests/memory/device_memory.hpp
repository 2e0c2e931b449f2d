// Memory of the fake GPU: host memory that its driver has handed out, which tests fill and read directly.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "door.hpp"

namespace tilewright::memory {

class DeviceMemory {
 public:
  // Called once in a process, before any fault.
  void allocate(std::size_t elements) {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) std::exit(99);
    const auto find = [&](const char* name) { return dlsym(driver, name); };
    void* context = nullptr;
    unsigned long long address = 0;
    synchronize_ = reinterpret_cast<int (*)()>(find("cuCtxSynchronize"));
    const int failed = reinterpret_cast<int (*)(void**, int)>(find("cuDevicePrimaryCtxRetain"))(&context, 0) +
                       reinterpret_cast<int (*)(void*)>(find("cuCtxPushCurrent_v2"))(context) +
                       reinterpret_cast<int (*)(unsigned long long*, std::size_t)>(find("cuMemAlloc_v2"))(
                           &address, elements * sizeof(double));
    if (failed != 0) std::exit(99);
    data_ = reinterpret_cast<double*>(address);
  }
  double* data() const { return data_; }
  void write(const Values& values) const {
    std::memcpy(data_, values.data(), values.size() * sizeof(double));
  }
  void read(Values& values) const {
    synchronize_();
    std::memcpy(values.data(), data_, values.size() * sizeof(double));
  }

 private:
  double* data_ = nullptr;
  int (*synchronize_)() = nullptr;
};

}  // namespace tilewright::memory
