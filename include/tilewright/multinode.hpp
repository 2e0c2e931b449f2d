// Several processes, or threads with a Context each, that work on one matrix, each with its GPU. A build with
// TILEWRIGHT_MULTINODE=OFF has none of it.
//
// Products of matrices that are distributed over the memories of several GPUs: C = alpha op(A) op(B) + beta C
// through NVIDIA's cuBLASMp, which is opened when it is first asked for and is no part of this library. The
// program makes and keeps the NCCL communicator, and loads libnccl.so.2 for it.
//
// Matrices are distributed in blocks over a grid of processes as ScaLAPACK distributes them (Blackford et al.
// 1997, ScaLAPACK Users' Guide, chapter 4): block (i, j) belongs to the process in row (i + source_row) mod
// grid rows and column (j + source_col) mod grid columns. The blocks of a process lie together, as one
// column-major matrix of local_extent(...) rows and columns, in the memory of its GPU.
//
// Known are cuBLASMp 0.7 to 0.10; others are refused, for its functions may have changed. Releases before
// 0.10 are documented as faulty with conjugate transposes, which are refused there for complex types; so is
// op_a = none with a transposed B on a grid of several rows, which was wrong with 0.7.0.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "tilewright/context.hpp"
#include "tilewright/lu.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

// The order of a communicator's ranks on the grid: one column after the other, or one row.
enum class RankOrder : std::uint8_t { column_major, row_major };

// rows * cols must be the number of the communicator's ranks.
struct ProcessGrid {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
  RankOrder order = RankOrder::column_major;
};

// A process's part of a distributed matrix of rows x cols elements in all. Element (i, j) of the part lies at
// data[j * ld + i], in the memory of the communicator's GPU. The caller owns it. Sizes count elements.
template <class T>
struct DistributedMatrix {
  T* data = nullptr;  // not read where the part is empty
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t block_rows = 0;
  std::int64_t block_cols = 0;
  std::int64_t ld = 0;          // at least max(1, the part's rows)
  std::int64_t source_row = 0;  // of the grid: who has block (0, 0)
  std::int64_t source_col = 0;

  operator DistributedMatrix<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, block_rows, block_cols, ld, source_row, source_col};
  }
};

// One process's membership in a grid. Used by one thread at a time; cuBLASMp allows one for each GPU of a
// process. It owns a workspace on the GPU and on the host, which grows and is kept.
class DistributedGemm {
 public:
  // All ranks of `communicator`, an ncclComm_t, call it together, with the same grid. The communicator is the
  // caller's and must outlive the object; its GPU is the one that operands lie on. Throws
  // Error(invalid_argument) naming what is wrong with communicator or grid; Error(unsupported) without a
  // cuBLASMp that is known, or where libnccl.so.2 is not loaded.
  DistributedGemm(void* communicator, const ProcessGrid& grid);
  // All ranks together, too. Waits for what the object has queued.
  ~DistributedGemm();
  DistributedGemm(DistributedGemm&&) noexcept;
  DistributedGemm& operator=(DistributedGemm&&) = delete;

  // This process's place in the grid, from 0 on, and its GPU.
  std::int64_t row() const noexcept;
  std::int64_t col() const noexcept;
  int device() const noexcept;
  // "cuBLASMp 0.10.0 (/usr/lib/libcublasmp.so.0)"
  std::string library() const;

  // C = alpha op(A) op(B) + beta C. All ranks call it with the same arguments but for data, ld and stream.
  // The sizes of op(A), op(B) and C must agree, and so must their blocks: op(A)'s rows' with C's, op(B)'s
  // columns' with C's, op(A)'s columns' with op(B)'s rows'. C must not lie on A or B. beta = 0 does not read
  // C; alpha = 0 or k = 0 does not read A and B. The work is queued on `stream`, a CUstream (cudaStream_t) of
  // the GPU; the call may wait for it, and waits where the workspace grows. It is not for streams that are
  // captured.
  //
  // Throws, before anything is queued, Error(invalid_argument) naming the argument and its value, and
  // Error(unsupported) for what the library cannot do. A failure of cuBLASMp bears the name of its status:
  // ALLOCATION_FAILED is Error(out_of_memory), EXECUTION_FAILED Error(device_lost), INVALID_VALUE,
  // NOT_SUPPORTED and ARCHITECTURE_MISMATCH Error(unsupported), others Error(internal). A rank that throws
  // while others do not leaves these waiting: NCCL's ncclCommAbort ends that.
  template <class T>
  void gemm(Op op_a, Op op_b, std::type_identity_t<T> alpha,
            const DistributedMatrix<const std::type_identity_t<T>>& a,
            const DistributedMatrix<const std::type_identity_t<T>>& b, std::type_identity_t<T> beta,
            const DistributedMatrix<T>& c, CUstream_st* stream);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Processes, or threads with a Context each (a Context's GPU is one factorization's at a time), among which
// the columns of a matrix lie in turn: block j of nb columns belongs to member j mod `members`.
struct LuTeam {
  int members = 1;
  int own = 0;  // this one, from 0 on
  // Brings `bytes` bytes (a multiple of 4) at `data`, in host memory, from member `owner` to all others, and
  // returns when `data` may be used again. All members call it equally often, with the same owner and bytes.
  // An exception that it throws ends the factorization.
  std::function<void(void* data, std::int64_t bytes, int owner)> broadcast{};
};

}  // namespace v0_2

// Returns how many of `extent` rows, in blocks of `block`, the process in row `coordinate` of `processes`
// rows has, where the process in row `source` has the first block (ScaLAPACK's NUMROC). Likewise of columns.
// Throws Error(invalid_argument) where extent < 0, block < 1, or coordinate or source is no row of the grid.
std::int64_t local_extent(std::int64_t extent, std::int64_t block, std::int64_t coordinate,
                          std::int64_t source, std::int64_t processes);

// Why distributed products are not to be had in this process: what was searched and what each place had, or
// that the version is none of the known ones; "" where they are. Opens the library.
std::string distributed_gemm_status();

// LAPACK xGETRF of an m x n matrix whose columns a team has, each member on one GPU: the member's columns are
// there from its first block to its last, blocks are factored by their owners and brought to the others, and
// the next one is factored while the rest is updated. A holds the member's own blocks of nb columns side by
// side in host memory, with lda >= max(1, m); every member receives all min(m, n) pivots, counted in rows of
// the matrix. info is the first zero pivot of the member's own blocks. Of options, gpus and gpu_memory_bytes
// count. Where it throws after the first broadcast A and the other members' calls are undefined.
template <class T>
LuReport lu_factor_cyclic(Context& context, std::int64_t m, std::int64_t n, std::int64_t nb, T* a,
                          std::int64_t lda, std::int64_t* pivots, const LuTeam& team,
                          const LuOptions& options = {});

// Why this member cannot take part in it ("there is no GPU: ..."); "" where it can. Asks the GPU for its free
// memory, and no other member.
std::string why_not_cyclic(Context& context, DType dtype, std::int64_t m, std::int64_t n, std::int64_t nb,
                           const LuTeam& team, const LuOptions& options = {});

}  // namespace tilewright
