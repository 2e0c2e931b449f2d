// The config of the LU panel kernel and what a launch passes, read by the host compiler and by NVRTC alike.
#pragma once

namespace tilewright {

// The blocks of one cluster share the rows of a panel. A thread holds `rows` of them, each with all of its
// columns that are not eliminated yet, in registers.
struct LuPanelConfig {
  int cluster = 1;    // blocks
  int threads = 256;  // of a block
  int rows = 1;       // of a thread
  int width = 32;     // columns, at most

  friend constexpr bool operator==(const LuPanelConfig&, const LuPanelConfig&) = default;
};

constexpr int lu_panel_block_rows(const LuPanelConfig& c) { return c.threads * c.rows; }
constexpr int lu_panel_most_rows(const LuPanelConfig& c) { return c.cluster * lu_panel_block_rows(c); }

// A row as it is sent: its elements, the reciprocal of the first of those that are left, and its position.
constexpr int lu_panel_row_elements(const LuPanelConfig& c) { return c.width + 2; }
// Two barriers; rows of two steps from every block; the block's own candidate; the best of each warp;
// factored rows.
constexpr int lu_panel_shared_bytes(const LuPanelConfig& c, int element_bytes) {
  const int sent = c.cluster > 1 ? 2 * c.cluster : 0;
  return 16 + (sent + 1) * lu_panel_row_elements(c) * element_bytes + c.threads / 32 * 16 +
         lu_panel_block_rows(c) * c.width * element_bytes;
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
};

// What info becomes where a block waited in vain for another.
constexpr long long lu_panel_waited_in_vain = -1;

}  // namespace tilewright
