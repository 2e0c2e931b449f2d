// The kernels that the fake driver knows, computed by plain loops from the expression that instantiates them,
// and the memory they may touch.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace tilewright::fake_cuda {

// Blocks of a cluster, as the name of an instance of large GEMM says; 1 for other kernels.
unsigned cluster_of(const std::string& expression);
// Whether the instance waits for the kernel before it by itself.
bool waits_for_launch_before(const std::string& expression);

// What the fake compiler's output begins with; the expression follows.
inline constexpr const char* image_mark = "fake cubin: ";

double now_s();

class Memory {
 public:
  unsigned long long add(std::size_t bytes, int device);
  bool remove(unsigned long long address);
  int owner(unsigned long long address) const;  // -1: nobody's
  bool holds(unsigned long long address, std::size_t bytes, int device) const;
  std::size_t bytes(int device) const;  // of all blocks there

 private:
  struct Block {
    std::size_t bytes = 0;
    int device = 0;
    void* base = nullptr;
  };
  std::map<unsigned long long, Block> blocks_;
  std::map<int, std::size_t> bytes_;  // by device: batches of ten thousand blocks ask at each
};

// A launch with its arguments copied; false when it would touch memory that is not the device's.
using Work = std::function<bool(const Memory& memory, int device)>;
Work make_kernel(const std::string& expression, const void* arguments);
// Of those that sum products into one C (fake_sums.cpp), and of LU (fake_lu_kernels.cpp).
Work make_sums_kernel(const std::string& expression, const void* arguments);
Work make_lu_kernel(const std::string& expression, const void* arguments);

}  // namespace tilewright::fake_cuda
