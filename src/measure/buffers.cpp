// Page-aligned blocks and their data. Random numbers need not be good, but fast: a gigabyte a second.
#include "measure/buffers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "measure/clock.hpp"

namespace tilewright {
namespace {

constexpr std::size_t page_bytes = 4096;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // SplitMix64: state += odd constant; output = mix(state).
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

template <class Real>
Real uniform_value(std::uint64_t bits) {
  constexpr int digits = std::numeric_limits<Real>::digits;
  return static_cast<Real>(bits >> (64 - digits)) * std::ldexp(Real(1), -digits) - Real(0.5);
}

template <class Real>
Real value(Data kind, std::uint64_t bits, std::int64_t index) {
  switch (kind) {
    case Data::uniform:
      return uniform_value<Real>(bits);
    case Data::graded:
      return std::ldexp(2 * uniform_value<Real>(bits), -static_cast<int>(index % 32));
    case Data::ill_scaled:  // random magnitudes, from bits that the value does not use
      return std::ldexp(2 * uniform_value<Real>(bits), static_cast<int>((bits & 0x7ff) % 41) - 20);
    case Data::pow2:
      return std::ldexp(bits & 1 ? Real(1) : Real(-1), static_cast<int>((bits >> 1) % 7) - 3);
  }
  return 0;
}

template <class Real>
void fill_reals(Real* data, std::int64_t count, Data kind, std::uint64_t seed) {
  Random random(seed);
  if (kind == Data::uniform) {  // the only kind that fills gigabytes: no branch per element
    for (std::int64_t i = 0; i < count; ++i) data[i] = uniform_value<Real>(random.next());
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) data[i] = value<Real>(kind, random.next(), i);
}

// Grows `buffer` to `bytes`; returns true if it is new.
bool grow(AlignedBuffer& buffer, std::int64_t bytes) {
  if (buffer.bytes() >= bytes) return false;
  buffer = AlignedBuffer();  // release the old block first: both together may not fit
  buffer = AlignedBuffer(bytes);
  return true;
}

void fill_buffer(const AlignedBuffer& buffer, DType dtype, Data kind, std::uint64_t seed) {
  fill(buffer.data(), buffer.bytes() / size_bytes(dtype), dtype, kind, seed);
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::int64_t bytes) : bytes_(bytes) {
  const std::size_t rounded = (static_cast<std::size_t>(bytes) + page_bytes - 1) / page_bytes * page_bytes;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(page_bytes, rounded ? rounded : page_bytes)));
  if (!data_)
    throw Error(ErrorCode::out_of_memory, "bytes", fmt::format("bytes = {}: no memory for operands", bytes));
}

void AlignedBuffer::Free::operator()(std::byte* data) const noexcept { std::free(data); }

void fill(void* data, std::int64_t count, DType dtype, Data kind, std::uint64_t seed) {
  const std::int64_t reals = is_complex(dtype) ? 2 * count : count;
  if (dtype == DType::f32 || dtype == DType::c64)
    fill_reals(static_cast<float*>(data), reals, kind, seed);
  else
    fill_reals(static_cast<double*>(data), reals, kind, seed);
}

double fill_seconds_per_byte(DType dtype) {
  constexpr std::int64_t bytes = std::int64_t{8} << 20;
  const double begin_s = wall_seconds();
  const AlignedBuffer buffer(bytes);
  fill(buffer.data(), bytes / size_bytes(dtype), dtype, Data::uniform, 1);
  return (wall_seconds() - begin_s) / double(bytes);
}

std::int64_t Arena::bytes_to_fill(std::int64_t input_bytes, std::int64_t output_bytes, DType dtype,
                                  Data kind) const {
  const bool other_data = dtype != dtype_ || kind != kind_;
  const auto of = [&](const AlignedBuffer& buffer, std::int64_t wanted) {
    if (buffer.bytes() < wanted) return wanted;
    return other_data ? buffer.bytes() : 0;
  };
  return of(inputs_, input_bytes) + of(outputs_, output_bytes);
}

void Arena::prepare(std::int64_t input_bytes, std::int64_t output_bytes, DType dtype, Data kind) {
  const bool other_data = dtype != dtype_ || kind != kind_;
  const bool new_inputs = grow(inputs_, input_bytes);
  const bool new_outputs = grow(outputs_, output_bytes);
  dtype_ = dtype;
  kind_ = kind;
  if (new_inputs || other_data) fill_buffer(inputs_, dtype, kind, 1);
  if (new_outputs || other_data) fill_buffer(outputs_, dtype, kind, 2);
}

}  // namespace tilewright
