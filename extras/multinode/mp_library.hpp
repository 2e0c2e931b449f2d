// cuBLASMp opened at run time: products of matrices distributed over several GPUs. Its functions, and those
// of NCCL that describe a communicator, are declared by their published signatures, with enumerations as int.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tilewright/types.hpp"

struct CUstream_st;

namespace tilewright {

class CublasMp {
 public:
  // Throws Error(unsupported) if libnccl.so.2 is not loaded, if no cuBLASMp can be opened (naming the paths
  // tried), or for an unknown version. Libraries stay open.
  CublasMp();

  // Returns major * 10000 + minor * 100 + patch; 0.7.0 is 700.
  int version() const { return version_; }
  // Returns, for example, "cuBLASMp 0.10.0 (/usr/lib/libcublasmp.so.0)".
  std::string name() const;

  struct Rank {
    int rank = 0, count = 0, device = 0;
  };
  // Returns rank, size and device of an ncclComm_t. Throws Error(invalid_argument) if NCCL does not know it.
  Rank rank_of(void* communicator) const;

  // Throws unless the status is 0: Error(out_of_memory, device_lost, unsupported or internal) with its name.
  void check(int status, const char* call) const;

  // Returns the cudaDataType of an element; the other the cublasComputeType_t of its precision.
  static int type_of(DType dtype);
  static int compute_of(DType dtype);

  int (*create)(void** handle, CUstream_st* stream) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*set_stream)(void* handle, CUstream_st* stream) = nullptr;
  // `order` is 0 for column-major, 1 for row-major.
  int (*grid_create)(std::int64_t rows, std::int64_t cols, int order, void* communicator,
                     void** grid) = nullptr;
  int (*grid_destroy)(void* grid) = nullptr;
  int (*descriptor_create)(std::int64_t rows, std::int64_t cols, std::int64_t block_rows,
                           std::int64_t block_cols, std::int64_t source_row, std::int64_t source_col,
                           std::int64_t ld, int type, void* grid, void** descriptor) = nullptr;
  int (*descriptor_destroy)(void* descriptor) = nullptr;
  // The submatrices of A, B and C begin at row i. and column j., counted from 1; scalars lie on the host.
  int (*gemm_workspace)(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k,
                        const void* alpha, const void* a, std::int64_t ia, std::int64_t ja, void* a_described,
                        const void* b, std::int64_t ib, std::int64_t jb, void* b_described, const void* beta,
                        void* c, std::int64_t ic, std::int64_t jc, void* c_described, int compute,
                        std::size_t* device_bytes, std::size_t* host_bytes) = nullptr;
  int (*gemm)(void* handle, int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k,
              const void* alpha, const void* a, std::int64_t ia, std::int64_t ja, void* a_described,
              const void* b, std::int64_t ib, std::int64_t jb, void* b_described, const void* beta, void* c,
              std::int64_t ic, std::int64_t jc, void* c_described, int compute, void* device_work,
              std::size_t device_bytes, void* host_work, std::size_t host_bytes) = nullptr;

 private:
  std::string path_;
  int version_ = 0;
  int (*comm_count_)(void* communicator, int* count) = nullptr;
  int (*comm_rank_)(void* communicator, int* rank) = nullptr;
  int (*comm_device_)(void* communicator, int* device) = nullptr;
};

}  // namespace tilewright
