// The config of the LU panel kernel and what a launch passes, read by the host compiler and by NVRTC alike.
#pragma once

namespace tilewright {

// How blocks tell one another of their candidates: by writing into each other's shared memory, which only the
// blocks of one cluster reach, or through global memory, for as many blocks as run at once.
enum class LuExchange : unsigned char { cluster, global };

// The blocks share the rows of a panel. A thread holds `rows` of them, each with all of its columns that are
// not eliminated yet, in registers.
struct LuPanelConfig {
  int cluster = 1;    // blocks; through global memory as many as the rows need
  int threads = 256;  // of a block
  int rows = 1;       // of a thread
  int width = 32;     // columns, at most
  LuExchange exchange = LuExchange::cluster;

  friend constexpr bool operator==(const LuPanelConfig&, const LuPanelConfig&) = default;
};

constexpr bool lu_panel_is_global(const LuPanelConfig& c) { return c.exchange == LuExchange::global; }
constexpr int lu_panel_block_rows(const LuPanelConfig& c) { return c.threads * c.rows; }
constexpr int lu_panel_blocks(const LuPanelConfig& c, int rows) {
  return lu_panel_is_global(c) ? (rows + lu_panel_block_rows(c) - 1) / lu_panel_block_rows(c) : c.cluster;
}

// A row as it is sent: its elements, the reciprocal of the first of those that are left, and its position.
constexpr int lu_panel_row_elements(const LuPanelConfig& c) { return c.width + 2; }
// Two barriers and the best of each warp.
constexpr int lu_panel_header_bytes(const LuPanelConfig& c) {
  return (16 + c.threads / 32 * 16 + 31) / 32 * 32;
}
// Behind them rows of two steps from every block of the cluster, or the chosen one; the block's own
// candidate; factored rows.
constexpr int lu_panel_shared_bytes(const LuPanelConfig& c, int element_bytes) {
  const int sent = lu_panel_is_global(c) ? 1 : c.cluster > 1 ? 2 * c.cluster : 0;
  return lu_panel_header_bytes(c) + (sent + 1) * lu_panel_row_elements(c) * element_bytes +
         lu_panel_block_rows(c) * c.width * element_bytes;
}

// What blocks write in global memory for each of two steps: words of 8 bytes, half of which is the number of
// the step, three for the candidate's key and position and one for each 4 bytes of its row. In front of all
// is the number of launches so far; the memory is zero before the first.
constexpr int lu_panel_slot_bytes(const LuPanelConfig& c, int element_bytes) {
  return (24 + lu_panel_row_elements(c) * element_bytes * 2 + 31) / 32 * 32;
}
constexpr long long lu_panel_exchange_bytes(const LuPanelConfig& c, int rows, int element_bytes) {
  return lu_panel_is_global(c) ? 32 + 2LL * lu_panel_blocks(c, rows) * lu_panel_slot_bytes(c, element_bytes)
                               : 0;
}

// How many ints a list of moves has: its length, then pairs of rows, from and to.
constexpr int lu_moves_ints(int width) { return 2 + 4 * width; }

template <class T>
struct LuPanelArgs {
  T* a;  // m x n, by columns; its factors afterwards, rows in their final order
  long long ld;
  int m, n;             // n at most the config's width, m at most its rows
  long long first_row;  // of the matrix, that the panel's first row is
  long long* pivots;    // min(m, n) of them: rows of the matrix, counted from 1
  int* moves;           // rows of the panel that moved, as lu_moves_ints says
  long long* info;      // the first zero pivot of the matrix, counted from 1, if it is 0 still
  long long first_column;
  char* exchange;  // of lu_panel_exchange_bytes(), of one launch at a time; null where that is 0
};

// What info becomes where a block waited in vain for another.
constexpr long long lu_panel_waited_in_vain = -1;

}  // namespace tilewright
