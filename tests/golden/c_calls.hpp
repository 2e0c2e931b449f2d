// Calls of the C interface: the arguments that most have, by columns or by rows, and how they are spoiled.
#pragma once

#include "golden/operands.hpp"
#include "golden/spoiled_options.hpp"

namespace tilewright::golden {

template <class E>
E c_enum(int value) {
  return static_cast<E>(value);
}

struct CCall : Operands {
  tilewright_context* context = handle();
  tilewright_dtype dtype = TILEWRIGHT_F64;
  tilewright_op op_a = TILEWRIGHT_NONE, op_b = TILEWRIGHT_NONE;
  std::int64_t rows = m, cols = n, depth = k, lda = m, ldb = k, ldc = m;
  const void *alpha = alphas.data(), *beta = betas.data();
  tilewright_options options{};
  tilewright_info_mode info_mode = TILEWRIGHT_INFO_NONE;
  int* info = nullptr;
  std::vector<int> codes = std::vector<int>(16, 99);

  const char* message() const { return tilewright_last_error(context); }
  // The first codes, where they were asked for, and what they say.
  std::string result() const {
    if (info == nullptr || info_mode == TILEWRIGHT_INFO_NONE) return "";
    std::string text = ", codes";
    for (int i = 0; i < int(batch); ++i) text += " " + std::to_string(codes[std::size_t(i)]);
    return text + ", " + written();
  }
};

// The same call with matrices by rows.
template <class X>
struct ByRows : X {
  ByRows() {
    X::options.row_major = 1;
    X::lda = k, X::ldb = n, X::ldc = n;
  }
};

template <class X>
void spoil_c_kind(const Battery<X>& t) {
  t.run("context=null", [](X& x) { x.context = nullptr; });
  for (const int value : {-1, 7})
    t.run("dtype=" + std::to_string(value), [value](X& x) { x.dtype = c_enum<tilewright_dtype>(value); });
}

template <class X>
void spoil_c_scalars(const Battery<X>& t) {
  spoil_c_kind(t);
  t.null("alpha", AT(x.alpha));
  t.null("beta", AT(x.beta));
}

template <class X>
void spoil_c_shape(const Battery<X>& t) {
  spoil_c_scalars(t);
  for (const int value : {-1, 7}) {
    t.run("op_a=" + std::to_string(value), [value](X& x) { x.op_a = c_enum<tilewright_op>(value); });
    t.run("op_b=" + std::to_string(value), [value](X& x) { x.op_b = c_enum<tilewright_op>(value); });
  }
  t.numbers("m", 0, AT(x.rows));
  t.numbers("n", 0, AT(x.cols));
  t.numbers("k", 0, AT(x.depth));
  const X sample;
  t.numbers("lda", sample.lda, AT(x.lda));
  t.numbers("ldb", sample.ldb, AT(x.ldb));
  t.numbers("ldc", sample.ldc, AT(x.ldc));
  t.null("a", AT(x.at_a));
  t.null("b", AT(x.at_b));
  t.null("c", AT(x.at_c));
}

template <class X>
void spoil_c_info(const Battery<X>& t) {
  for (const int mode : {-1, 7})
    t.run("info_mode=" + std::to_string(mode),
          [mode](X& x) { x.info_mode = c_enum<tilewright_info_mode>(mode), x.info = x.codes.data(); });
  for (const int mode : {TILEWRIGHT_INFO_ALL, TILEWRIGHT_INFO_GROUP, TILEWRIGHT_INFO_ANY})
    t.run("info_mode=" + std::to_string(mode) + ",info=null",
          [mode](X& x) { x.info_mode = c_enum<tilewright_info_mode>(mode); });
}

// The info codes of a spoiled problem.
template <class X, class Spoil>
void tell_c_codes(const Battery<X>& t, const std::string& what, Spoil spoil) {
  for (const int mode : {TILEWRIGHT_INFO_ALL, TILEWRIGHT_INFO_GROUP, TILEWRIGHT_INFO_ANY})
    t.run("info_mode=" + std::to_string(mode) + "," + what, [mode, spoil](X& x) {
      x.info_mode = c_enum<tilewright_info_mode>(mode), x.info = x.codes.data();
      spoil(x);
    });
}

}  // namespace tilewright::golden
