// The plain loops for f32; see loops.hpp.
#include "loops.hpp"

namespace tilewright::peers {

FixedTable<float> loop_ijk_f32() { return loop_table<float, LoopOrder::ijk>(); }
FixedTable<float> loop_ikj_f32() { return loop_table<float, LoopOrder::ikj>(); }

}  // namespace tilewright::peers
