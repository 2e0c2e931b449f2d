// Headers of .npy files: accepted sizes are possible sizes of files, and a written header can be read.
#include "arrays/npy.hpp"

#include "target.hpp"

namespace tilewright::fuzz {

void one_input(const std::string& input) {
  const cli::NpyHeader header = cli::parse_npy_header(input, "A", "A");
  const std::int64_t count = header.count();
  require(count >= 0 && count <= (std::int64_t{1} << 62) / size_bytes(header.dtype), "arrays fit 2^62 bytes");
  require(header.data_offset <= std::int64_t(input.size()), "the data begin behind the header");
  constexpr std::size_t most_dimensions = 32;  // NumPy's limit
  if (header.shape.size() > most_dimensions) return;
  const auto again = cli::parse_npy_header(
      cli::npy_header_bytes(header.dtype, header.fortran_order, header.shape), "A", "A");
  require(again.shape == header.shape && again.dtype == header.dtype &&
              again.fortran_order == header.fortran_order,
          "a header that is written is read as it was");
}

std::vector<std::string> seeds() {
  return {cli::npy_header_bytes(DType::f64, false, {1000, 8, 8}), cli::npy_header_bytes(DType::c64, true, {}),
          cli::npy_header_bytes(DType::f32, true, {0, std::int64_t{1} << 40}),
          cli::npy_integers_header_bytes({5})};
}

}  // namespace tilewright::fuzz
