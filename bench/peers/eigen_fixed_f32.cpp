// Eigen with compile-time sizes for f32; see eigen_fixed.hpp.
#include "eigen_fixed.hpp"

namespace tilewright::peers {

FixedTable<float> eigen_fixed_f32() { return eigen_table<float>(); }

}  // namespace tilewright::peers
