// The kernels of the fake driver, computed by plain loops from the expression that instantiates them, and the
// memory they may touch.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace tilewright::fake_cuda {

// Returns the blocks of a cluster by the name of an instance of large GEMM; 1 for other kernels.
unsigned cluster_of(const std::string& expression);
// True if the instance itself waits for the kernel before it.
bool waits_for_launch_before(const std::string& expression);

// The fake compiler's output begins with this mark; the expression follows.
inline constexpr const char* image_mark = "fake cubin: ";

double now_s();

class Memory {
 public:
  unsigned long long add(std::size_t bytes, int device);
  bool remove(unsigned long long address);
  int owner(unsigned long long address) const;  // Returns the device, or -1 if none owns the address.
  bool holds(unsigned long long address, std::size_t bytes, int device) const;
  std::size_t bytes(int device) const;  // of all blocks of the device

 private:
  struct Block {
    std::size_t bytes = 0;
    int device = 0;
    void* base = nullptr;
  };
  std::map<unsigned long long, Block> blocks_;
  std::map<int, std::size_t> bytes_;  // by device, because batches of ten thousand blocks read it for each
};

// A launch with its arguments copied; it returns false if it would touch memory that is not the device's.
using Work = std::function<bool(const Memory& memory, int device)>;
Work make_kernel(const std::string& expression, const void* arguments);
// Make kernels that sum products into one C (fake_sums.cpp), kernels of LU (fake_lu_kernels.cpp), and small
// factorizations (fake_factor.cpp).
Work make_sums_kernel(const std::string& expression, const void* arguments);
Work make_lu_kernel(const std::string& expression, const void* arguments);
Work make_factor_kernel(const std::string& expression, const void* arguments);

}  // namespace tilewright::fake_cuda
