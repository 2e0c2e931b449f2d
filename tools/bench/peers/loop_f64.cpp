// The plain loops for f64; see loops.hpp.
#include "loops.hpp"

namespace tilewright::peers {

FixedTable<double> loop_ijk_f64() { return loop_table<double, LoopOrder::ijk>(); }
FixedTable<double> loop_ikj_f64() { return loop_table<double, LoopOrder::ikj>(); }

}  // namespace tilewright::peers
