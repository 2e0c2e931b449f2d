// Config and launch arguments of the LU panel kernel, for the host compiler and NVRTC.
#pragma once

namespace tilewright {

// Memory in which blocks exchange candidates: shared memory (blocks of one cluster) or global memory (as many
// blocks as run at once).
enum class LuExchange : unsigned char { cluster, global };

// Blocks share a panel's rows. A thread holds `rows` of them, all remaining columns, in registers.
struct LuPanelConfig {
  int cluster = 1;    // blocks; with global exchange as many as the rows need
  int threads = 256;  // per block
  int rows = 1;       // per thread
  int width = 32;     // most columns
  LuExchange exchange = LuExchange::cluster;

  friend constexpr bool operator==(const LuPanelConfig&, const LuPanelConfig&) = default;
};

constexpr bool lu_panel_is_global(const LuPanelConfig& c) { return c.exchange == LuExchange::global; }
constexpr int lu_panel_block_rows(const LuPanelConfig& c) { return c.threads * c.rows; }
constexpr int lu_panel_blocks(const LuPanelConfig& c, int rows) {
  return lu_panel_is_global(c) ? (rows + lu_panel_block_rows(c) - 1) / lu_panel_block_rows(c) : c.cluster;
}

// A sent row: its elements, the reciprocal of the first remaining one, and its position.
constexpr int lu_panel_row_elements(const LuPanelConfig& c) { return c.width + 2; }
// Two barriers and the best candidate of each warp.
constexpr int lu_panel_header_bytes(const LuPanelConfig& c) {
  return (16 + c.threads / 32 * 16 + 31) / 32 * 32;
}
// Then rows of two steps from every block, or the selected one; its own candidate; factored rows.
constexpr int lu_panel_shared_bytes(const LuPanelConfig& c, int element_bytes) {
  const int sent = lu_panel_is_global(c) ? 1 : c.cluster > 1 ? 2 * c.cluster : 0;
  return lu_panel_header_bytes(c) + (sent + 1) * lu_panel_row_elements(c) * element_bytes +
         lu_panel_block_rows(c) * c.width * element_bytes;
}

// A block's words in global memory for each of two steps: 8 bytes each, half of it the step's number; three
// hold the candidate's key and position, and one every 4 bytes of its row. The first word counts launches;
// the memory must be zero before the first.
constexpr int lu_panel_slot_bytes(const LuPanelConfig& c, int element_bytes) {
  return (24 + lu_panel_row_elements(c) * element_bytes * 2 + 31) / 32 * 32;
}
constexpr long long lu_panel_exchange_bytes(const LuPanelConfig& c, int rows, int element_bytes) {
  return lu_panel_is_global(c) ? 32 + 2LL * lu_panel_blocks(c, rows) * lu_panel_slot_bytes(c, element_bytes)
                               : 0;
}

// The ints of a list of moves: its length, then pairs of rows (from, to).
constexpr int lu_moves_ints(int width) { return 2 + 4 * width; }

template <class T>
struct LuPanelArgs {
  T* a;  // m x n, column-major; its factors afterwards, rows in their final order
  long long ld;
  int m, n;             // at most the config's rows and width
  long long first_row;  // the matrix row of the panel's first row
  long long* pivots;    // min(m, n) rows of the matrix, counted from 1
  int* moves;           // moves of the panel's rows, as in lu_moves_ints
  long long* info;      // set to the first zero pivot of the matrix, counted from 1, if still 0
  long long first_column;
  char* exchange;  // lu_panel_exchange_bytes(), for one launch at a time; null if that is 0
};

// The value of info after a timeout of a block.
constexpr long long lu_panel_waited_in_vain = -1;

}  // namespace tilewright
