// The plain ijk loops for f32; see loops.hpp.
#include "loops.hpp"

namespace tilewright::peers {

FixedTable<float> loop_ijk_f32() { return loop_table<float, LoopOrder::ijk>(); }

}  // namespace tilewright::peers
