/// @file
/// Several processes, or threads with a Context each, that work on one matrix, each with its GPU. A build
/// with TILEWRIGHT_MULTINODE=OFF does not have these functions.
///
/// Products of matrices that are distributed over the memories of several GPUs: C = alpha op(A) op(B) + beta
/// C through NVIDIA's cuBLASMp, which is opened on first use and is no part of this library. The program
/// creates and keeps the NCCL communicator, and loads libnccl.so.2 for it.
///
/// Matrices are distributed in blocks over a grid of processes as ScaLAPACK distributes them (Blackford et
/// al. 1997, ScaLAPACK Users' Guide, chapter 4): block (i, j) belongs to the process in row (i + source_row)
/// mod grid rows and column (j + source_col) mod grid columns. The blocks of a process lie together, as one
/// column-major matrix of local_extent(...) rows and columns, in the memory of its GPU.
///
/// cuBLASMp 0.7 to 0.10 are supported; others are refused, because their functions may differ. Releases
/// before 0.10 are documented as faulty with conjugate transposes, which are refused there for complex types;
/// so is op_a = none with a transposed B on a grid of several rows, which was wrong with 0.7.0.
/// @par Units Sizes, blocks and leading dimensions count elements.
/// @par Memory The caller owns matrices, pivots and communicators.
/// @par Threads Any number of threads may call with different objects and Contexts at once.
/// @par Errors The functions throw Error as their comments say. A member that throws while others do not
/// leaves
///   these waiting.
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

/// The order of a communicator's ranks on the grid: one column after the other, or one row.
enum class RankOrder : std::uint8_t { column_major, row_major };

/// A grid of processes; rows * cols must be the number of the communicator's ranks.
struct ProcessGrid {
  std::int64_t rows = 1;
  std::int64_t cols = 1;
  RankOrder order = RankOrder::column_major;
};

/// A process's part of a distributed matrix of rows x cols elements in all. Element (i, j) of the part lies
/// at data[j * ld + i], in the memory of the communicator's GPU.
template <class T>
struct DistributedMatrix {
  T* data = nullptr;  ///< not read if the part is empty
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t block_rows = 0;
  std::int64_t block_cols = 0;
  std::int64_t ld = 0;          ///< at least max(1, the part's rows)
  std::int64_t source_row = 0;  ///< place in the grid of the process that has block (0, 0)
  std::int64_t source_col = 0;

  operator DistributedMatrix<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, block_rows, block_cols, ld, source_row, source_col};
  }
};

/// One process's membership in a grid. It owns a workspace on the GPU and on the host, which grows and is
/// kept.
/// @par Threads One thread may use it at a time; cuBLASMp allows one for each GPU of a process.
class DistributedGemm {
 public:
  /// All ranks of `communicator`, an ncclComm_t, call it together, with the same grid. The communicator is
  /// the caller's and must outlive the object; its GPU is the one that operands lie on.
  /// @throws Error invalid_argument naming communicator or grid; unsupported without a supported cuBLASMp, or
  /// if
  ///   libnccl.so.2 is not loaded.
  DistributedGemm(void* communicator, const ProcessGrid& grid);
  /// All ranks call it together, too. Waits for the queued work.
  ~DistributedGemm();
  DistributedGemm(DistributedGemm&&) noexcept;
  DistributedGemm& operator=(DistributedGemm&&) = delete;

  /// Return this process's place in the grid, from 0 on, and its GPU.
  std::int64_t row() const noexcept;
  std::int64_t col() const noexcept;
  int device() const noexcept;
  /// Returns the library that computes, such as "cuBLASMp 0.10.0 (/usr/lib/libcublasmp.so.0)".
  std::string library() const;

  /// C = alpha op(A) op(B) + beta C. All ranks call it with the same arguments except data, ld and stream.
  /// beta = 0 does not read C; alpha = 0 or k = 0 does not read A and B. The work is queued on `stream`, a
  /// CUstream (cudaStream_t) of the GPU; the call may wait for it, and does if the workspace grows. Streams
  /// must not be captured.
  /// @par Shapes The sizes of op(A), op(B) and C must agree, and so must their blocks: rows of op(A) and C,
  ///   columns of op(B) and C, columns of op(A) and rows of op(B). C must not overlap A or B.
  /// @throws Error before anything is queued, invalid_argument naming the argument and its value, unsupported
  ///   for what the library cannot do. A failure of cuBLASMp bears the name of its status: ALLOCATION_FAILED
  ///   is out_of_memory, EXECUTION_FAILED device_lost, INVALID_VALUE, NOT_SUPPORTED and ARCHITECTURE_MISMATCH
  ///   unsupported, others internal. ncclCommAbort of NCCL releases ranks that wait for one that threw.
  /// @see PBLAS PxGEMM
  template <class T>
  void gemm(Op op_a, Op op_b, std::type_identity_t<T> alpha,
            const DistributedMatrix<const std::type_identity_t<T>>& a,
            const DistributedMatrix<const std::type_identity_t<T>>& b, std::type_identity_t<T> beta,
            const DistributedMatrix<T>& c, CUstream_st* stream);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Processes, or threads with a Context each (a Context's GPU serves one factorization at a time), among
/// which the columns of a matrix are dealt: block j of nb columns belongs to member j mod `members`.
struct LuTeam {
  int members = 1;
  int own = 0;  ///< number of this member, from 0 on
  /// Sends `bytes` bytes (a multiple of 4) at `data`, in host memory, from member `owner` to all others, and
  /// returns when `data` may be used again. All members call it equally often, with the same owner and bytes.
  /// An exception that it throws ends the factorization.
  std::function<void(void* data, std::int64_t bytes, int owner)> broadcast{};
};

}  // namespace v0_2

/// Returns how many of `extent` rows, in blocks of `block`, the process in row `coordinate` of `processes`
/// rows has, if the process in row `source` has the first block; the same holds for columns.
/// @throws Error invalid_argument if extent < 0, block < 1, or coordinate or source is outside the grid.
/// @see ScaLAPACK NUMROC
std::int64_t local_extent(std::int64_t extent, std::int64_t block, std::int64_t coordinate,
                          std::int64_t source, std::int64_t processes);

/// Returns "" if distributed products are available in this process, else the reason: the places that were
/// searched and what each had, or a version that is not supported. It opens the library.
std::string distributed_gemm_status();

/// Factors an m x n matrix whose columns a team has, each member on one GPU: owners factor their blocks and
/// send them to the others, and the next block is factored while the rest is updated. Only gpus and
/// gpu_memory_bytes of the options matter.
/// @par Shapes A holds the member's own blocks of nb columns side by side in host memory, with lda >= max(1,
/// m);
///   every member receives all min(m, n) pivots, counted in rows of the matrix. info is the first zero pivot
///   of the member's own blocks.
/// @throws Error invalid_argument, unsupported and out_of_memory before the first broadcast; device_lost, and
///   whatever `broadcast` throws, after it: A and the calls of other members are undefined then.
/// @see LAPACK xGETRF
template <class T>
LuReport lu_factor_cyclic(Context& context, std::int64_t m, std::int64_t n, std::int64_t nb, T* a,
                          std::int64_t lda, std::int64_t* pivots, const LuTeam& team,
                          const LuOptions& options = {});

/// Returns "" if this member can take part in it, else the reason ("there is no GPU: ..."). It queries the
/// free memory of the GPU, and no other member.
/// @throws Error invalid_argument naming the argument.
std::string why_not_cyclic(Context& context, DType dtype, std::int64_t m, std::int64_t n, std::int64_t nb,
                           const LuTeam& team, const LuOptions& options = {});

}  // namespace tilewright
