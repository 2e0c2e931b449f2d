// cuBLASMp opened at run time: products of matrices that several GPUs hold in parts. Its functions, and the
// few of NCCL that tell of a communicator, are declared here by their published signatures, so that no header
// of the vendor is needed. Statuses and enumerations pass as int.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tilewright/types.hpp"

struct CUstream_st;

namespace tilewright {

class CublasMp {
 public:
  // Throws Error(unsupported) where libnccl.so.2 is not loaded, where no cuBLASMp can be opened (naming what
  // was tried), or where it is of a version whose functions are not known. Libraries stay open.
  CublasMp();

  // major * 10000 + minor * 100 + patch; 0.7.0 is 700.
  int version() const { return version_; }
  // "cuBLASMp 0.10.0 (/usr/lib/libcublasmp.so.0)"
  std::string name() const;

  struct Rank {
    int rank = 0, count = 0, device = 0;
  };
  // What NCCL tells of an ncclComm_t. Throws Error(invalid_argument) where it does not know it.
  Rank rank_of(void* communicator) const;

  // Throws unless the status is 0: Error(out_of_memory, device_lost, unsupported or internal) with its name.
  void check(int status, const char* call) const;

  // The value of cudaDataType for an element, and of cublasComputeType_t for sums of its precision.
  static int type_of(DType dtype);
  static int compute_of(DType dtype);

  int (*create)(void** handle, CUstream_st* stream) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*set_stream)(void* handle, CUstream_st* stream) = nullptr;
  // order: 0 by columns, 1 by rows.
  int (*grid_create)(std::int64_t rows, std::int64_t cols, int order, void* communicator,
                     void** grid) = nullptr;
  int (*grid_destroy)(void* grid) = nullptr;
  int (*descriptor_create)(std::int64_t rows, std::int64_t cols, std::int64_t block_rows,
                           std::int64_t block_cols, std::int64_t source_row, std::int64_t source_col,
                           std::int64_t ld, int type, void* grid, void** descriptor) = nullptr;
  int (*descriptor_destroy)(void* descriptor) = nullptr;
  // Of A, B and C the submatrix begins at rows i. and columns j., counted from 1; scalars lie on the host.
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
  void look_up(void* library);

  std::string path_;
  int version_ = 0;
  int (*comm_count_)(void* communicator, int* count) = nullptr;
  int (*comm_rank_)(void* communicator, int* rank) = nullptr;
  int (*comm_device_)(void* communicator, int* device) = nullptr;
};

}  // namespace tilewright
