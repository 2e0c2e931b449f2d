// The cost of a register block: ports, issue, and the latency of the sums as far as later blocks do not hide
// it, with data in L1. It selects AVX2's default config; docs/gemm_small_cpu.md compares it with sweeps.
#include "kernel/gemm_small_cpu/columns_cost_space.hpp"

#include <algorithm>
#include <cmath>

namespace tilewright::columns {
namespace {

using C = GemmSmallCpuConfig;

// In cycles and per cycle, for the narrower of the processors with the instruction set.
struct Machine {
  double multiply_adds = 2, loads = 1.8, stores = 1, issue = 4;  // loads sometimes cross lines
  double latency = 5;       // of a multiply-add, of an addition and between them
  double around = 8;        // of the first load and the last store
  double window = 320;      // instructions of the out-of-order window
  double masked_load = 1;   // additional instructions
  double masked_store = 1;  // stores that one costs
  double turn_of_k = 4;     // instructions of an iteration over k
};
// A masked AVX2 store is several instructions on Intel's processors and dozens on AMD's.
constexpr Machine avx2{.masked_store = 4};
constexpr Machine avx512{.masked_load = 0};

struct Cost {
  double multiply_adds = 0, loads = 0, stores = 0, instructions = 0, waiting = 0;

  double cycles(const Machine& m) const {
    const double ports[] = {multiply_adds / m.multiply_adds, loads / m.loads, stores / m.stores,
                            instructions / m.issue, waiting};
    // Ports that are not the bottleneck still cost a little.
    double sum = 0;
    for (const double port : ports) sum += port;
    return *std::max_element(std::begin(ports), std::end(ports)) + 0.03 * sum;
  }
};

// Returns the stores of a vector's parts (Generator::store_split) and the extraction of its upper half.
double parts_of(const RowPiece& piece, int real_bytes) {
  const int bytes = piece.lanes * real_bytes, rest = bytes % 16;
  return (bytes > 16 ? 1 : 0) + (rest >= 8 ? 1 : 0) + (rest % 8 != 0 ? 1 : 0);
}

class BlockCost {
 public:
  BlockCost(const GemmProblem& problem, const Tile& tile, const C& config)
      : problem_(problem), tile_(tile), config_(config), machine_(machine_of(config.isa)) {
    reads_c_ = problem.beta != Scalar::zero || problem.sums != Sums::none;
  }

  double cycles() {
    const auto& columns = tile_.col_blocks;
    const auto larger = std::count(columns.begin(), columns.end(), columns.front());
    std::size_t first = 0;
    for (const int count : tile_.row_blocks) {
      add(first, count, columns.front(), double(larger));
      if (const auto rest = std::int64_t(columns.size()) - larger; rest > 0)
        add(first, count, columns.back(), double(rest));
      first += std::size_t(count);
    }
    return all_.cycles(machine_);
  }

 private:
  static const Machine& machine_of(Isa isa) { return isa == Isa::avx512 ? avx512 : avx2; }

  // Adds `times` equal blocks.
  void add(std::size_t first, int rows, int columns, double times) {
    const double k = double(problem_.k), parts = tile_.parts, vectors = double(rows) * columns;
    const double sets = std::min(double(config_.k_sets), k), masked = masked_pieces(first, rows);
    Cost block;
    block.multiply_adds = vectors * parts * k;
    block.loads = rows * k + columns * parts * k;
    block.instructions = block.multiply_adds + (rows + masked * machine_.masked_load) * k +
                         (embedded_broadcast(config_, rows) ? 0 : columns * parts * k) +
                         (sets - 1) * vectors * parts;
    if (config_.k_unroll > 0 && config_.k_unroll < problem_.k)
      block.instructions += machine_.turn_of_k * std::ceil(k / config_.k_unroll) + vectors;
    update(block, first, rows, columns);
    block.waiting = (std::ceil(k / sets) + sets + (reads_c_ ? 1 : 0)) * machine_.latency + machine_.around;
    block.waiting /= std::max(1.0, machine_.window / block.instructions);
    all_.multiply_adds += times * block.multiply_adds, all_.loads += times * block.loads;
    all_.stores += times * block.stores, all_.instructions += times * block.instructions;
    all_.waiting += times * block.waiting;
  }

  void update(Cost& block, std::size_t first, int rows, int columns) const {
    for (int i = 0; i < rows; ++i) {
      const RowPiece& piece = tile_.pieces[first + std::size_t(i)];
      const bool split = piece.masked && config_.tail == Tail::split;
      const double stores = split          ? parts_of(piece, tile_.real_bytes)
                            : piece.masked ? machine_.masked_store
                                           : 1;
      block.stores += stores * columns;
      block.instructions += (stores + (split && piece.lanes * tile_.real_bytes > 16 ? 1 : 0)) * columns;
      if (!reads_c_) continue;
      const bool direct = !piece.masked && piece.lanes * tile_.real_bytes >= 16;
      block.loads += columns;
      block.instructions += (direct || config_.c_load == CLoad::early ? 1 : 2) * columns;
    }
  }

  double masked_pieces(std::size_t first, int rows) const {
    const auto begin = tile_.pieces.begin() + std::ptrdiff_t(first);
    return double(std::count_if(begin, begin + rows, [](const RowPiece& piece) { return piece.masked; }));
  }

  const GemmProblem& problem_;
  const Tile& tile_;
  const C& config_;
  const Machine& machine_;
  bool reads_c_ = false;
  Cost all_;
};

}  // namespace

double block_cycles(const GemmProblem& problem, const Tile& tile, const GemmSmallCpuConfig& config) {
  return BlockCost(problem, tile, config).cycles();
}

}  // namespace tilewright::columns
