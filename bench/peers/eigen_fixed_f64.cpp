// Eigen with compile-time sizes for f64; see eigen_fixed.hpp.
#include "eigen_fixed.hpp"

namespace tilewright::peers {

FixedTable<double> eigen_fixed_f64() { return eigen_table<double>(); }

}  // namespace tilewright::peers
