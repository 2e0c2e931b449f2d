// Memory for measurements: page-aligned blocks, the kinds of data that fill them, and the arena that keeps
// the blocks across the cases of a run, so that only the first case pays for page faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/fields.hpp"

namespace tilewright {

// uniform: [-0.5, 0.5); graded: magnitudes from 1 down to 2^-31, so that errors relative to the largest entry
// show; ill_scaled: magnitudes between 2^-20 and 2^20 without order; pow2: signed powers of two in [1/8, 8],
// whose short sums of products are exact.
enum class Data : std::uint8_t { uniform, graded, ill_scaled, pow2 };
TILEWRIGHT_NAMES(Data, "uniform", "graded", "ill_scaled", "pow2");

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::int64_t bytes);  // page aligned, untouched; throws Error(out_of_memory)

  std::byte* data() const noexcept { return data_.get(); }
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::int64_t bytes_ = 0;
};

// Measures the seconds that filling a byte of fresh memory takes, page faults included.
double fill_seconds_per_byte(DType dtype);

// Fills `count` elements of `dtype`; the same seed gives the same data.
void fill(void* data, std::int64_t count, DType dtype, Data kind, std::uint64_t seed);

class Arena {
 public:
  // Makes room and fills new memory, or everything if dtype or kind differ from the last call: bytes of one
  // type read as another could be infinities and subnormals.
  void prepare(std::int64_t input_bytes, std::int64_t output_bytes, DType dtype, Data kind);
  // Returns how many bytes prepare() would fill.
  std::int64_t bytes_to_fill(std::int64_t input_bytes, std::int64_t output_bytes, DType dtype,
                             Data kind) const;

  std::byte* inputs() const noexcept { return inputs_.data(); }    // A and B; never written by a measurement
  std::byte* outputs() const noexcept { return outputs_.data(); }  // C; never read as A or B

 private:
  AlignedBuffer inputs_;
  AlignedBuffer outputs_;
  DType dtype_ = DType::f64;
  Data kind_ = Data::uniform;
};

}  // namespace tilewright
