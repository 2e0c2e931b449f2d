// Products of every layout in host memory, by calls without a plan: small, large, batches, sums, stacks,
// chains.
#include <array>

#include "batch.hpp"
#include "host_doors.hpp"
#include "session.hpp"

namespace tilewright::memory {
namespace {

constexpr auto none = TILEWRIGHT_NONE;
constexpr auto f64 = TILEWRIGHT_F64;

Door door(Session& session, const char* name, Batch& x, std::function<tilewright_status()> call) {
  return {name,
          [&session] { session.begin(); },
          std::move(call),
          {x.output},
          [&session] { return session.message(); }};
}

Door single(Session& session, const char* name, Batch& x, tilewright_options options = {}) {
  return door(session, name, x, [&session, &x, options] {
    return tilewright_gemm(session.context(), f64, none, none, x.m, x.n, x.k, &x.alpha, x.a.data(), x.m,
                           x.b.data(), x.k, &x.beta, x.c.data(), x.m, &options);
  });
}

Door strided(Session& session, const char* name, Batch& x, tilewright_options options = {}) {
  return door(session, name, x, [&session, &x, options] {
    return tilewright_gemm_strided_batched(session.context(), f64, none, none, x.m, x.n, x.k, &x.alpha,
                                           x.a.data(), x.m, x.m * x.k, x.b.data(), x.k, x.k * x.n, &x.beta,
                                           x.c.data(), x.m, x.m * x.n, x.count, &options,
                                           TILEWRIGHT_INFO_NONE, nullptr);
  });
}

Door levels(Session& session, Batch& x) {
  return door(session, "levels", x, [&session, &x] {
    const std::int64_t counts[] = {3, 4}, sa[] = {x.m * x.k, 3 * x.m * x.k},
                       sb[] = {x.k * x.n, 3 * x.k * x.n}, sc[] = {x.m * x.n, 3 * x.m * x.n};
    return tilewright_gemm_levels_batched(session.context(), f64, none, none, x.m, x.n, x.k, &x.alpha,
                                          x.a.data(), x.m, sa, x.b.data(), x.k, sb, &x.beta, x.c.data(), x.m,
                                          sc, 2, counts, nullptr, TILEWRIGHT_INFO_NONE, nullptr);
  });
}

Door pointers(Session& session, const char* name, Batch& x, tilewright_options options = {}) {
  return door(session, name, x, [&session, &x, options] {
    std::array<int, 64> info{};
    return tilewright_gemm_pointer_batched(session.context(), f64, none, none, x.m, x.n, x.k, &x.alpha,
                                           x.a_of.data(), x.m, x.b_of.data(), x.k, &x.beta, x.c_of.data(),
                                           x.m, x.count, &options, TILEWRIGHT_INFO_ALL, info.data());
  });
}

Door interleaved(Session& session, const char* name, Batch& x, std::int64_t block) {
  return door(session, name, x, [&session, &x, block] {
    return tilewright_gemm_interleaved_batched(session.context(), f64, none, none, x.m, x.n, x.k, &x.alpha,
                                               x.a.data(), x.m, x.b.data(), x.k, &x.beta, x.c.data(), x.m,
                                               block, x.count, nullptr, TILEWRIGHT_INFO_NONE, nullptr);
  });
}

// Calls groups of `each` problems; 0: a variable batch.
Door grouped(Session& session, const char* name, Batch& x, std::int64_t each) {
  return door(session, name, x, [&session, &x, each] {
    std::array<tilewright_op, 64> op{};
    std::array<std::int64_t, 64> m, n, k, size;
    std::array<double, 64> alpha, beta;
    m.fill(x.m), n.fill(x.n), k.fill(x.k), size.fill(each), alpha.fill(x.alpha), beta.fill(x.beta);
    const auto call = [&](auto function, auto... more) {
      return function(session.context(), f64, op.data(), op.data(), m.data(), n.data(), k.data(),
                      alpha.data(), x.a_of.data(), m.data(), x.b_of.data(), k.data(), beta.data(),
                      x.c_of.data(), m.data(), more..., nullptr, TILEWRIGHT_INFO_NONE, nullptr);
    };
    return each == 0 ? call(tilewright_gemm_variable_batched, x.count)
                     : call(tilewright_gemm_grouped_batched, x.count / each, size.data());
  });
}

Door reducing(Session& session, const char* name, Sum& s, bool by_pointers) {
  return {name,
          [&session] { session.begin(); },
          [&session, &s, by_pointers] {
            const Batch& x = s.x;
            return by_pointers
                       ? tilewright_gemm_pointer_batch_reduce(
                             session.context(), f64, none, none, x.m, x.n, x.k, &x.alpha, x.a_of.data(), x.m,
                             x.b_of.data(), x.k, &x.beta, s.c.data(), x.m, x.count, nullptr)
                       : tilewright_gemm_strided_batch_reduce(session.context(), f64, none, none, x.m, x.n,
                                                              x.k, &x.alpha, x.a.data(), x.m, x.m * x.k,
                                                              x.b.data(), x.k, x.k * x.n, &x.beta, s.c.data(),
                                                              x.m, x.count, nullptr);
          },
          {s.output},
          [&session] { return session.message(); }};
}

Door stacking(Session& session, Sum& s) {
  return {"stack",
          [&session] { session.begin(); },
          [&session, &s] {
            Batch& x = s.x;
            std::array<tilewright_stack_offsets, 64> offsets{};
            for (std::int64_t p = 0; p < x.count; ++p)
              offsets[std::size_t(p)] = {p * x.m * x.k, p * x.k * x.n, 0};
            const tilewright_stack stack{none,           none,    x.m,        x.n, x.k,        &x.alpha,
                                         x.a.data(),     x.m,     x.b.data(), x.k, s.c.data(), x.m,
                                         offsets.data(), nullptr, x.count};
            return tilewright_gemm_stack(session.context(), f64, &stack, 1, &x.beta, nullptr);
          },
          {s.output},
          [&session] { return session.message(); }};
}

// Computes D = A B into scratch, then C = 2 D B + beta C, element by element.
Door chaining(Session& session, Batch& x, Batch& y) {
  const auto call = [&session, &x, &y] {
    tilewright_plan *first = nullptr, *second = nullptr;
    const char* const text = "gemm_batched:f64:nn:m=6,n=6,k=6:strided:batch=12:alpha=general:beta=general";
    tilewright_status status = tilewright_plan_create(session.context(), text, nullptr, &first);
    if (status == TILEWRIGHT_OK) status = tilewright_plan_create(session.context(), text, nullptr, &second);
    if (status == TILEWRIGHT_OK) {
      const tilewright_chain_pass passes[] = {
          {first, &x.alpha, x.a.data(), x.b.data(), &x.beta, x.c.data(), 0, 0, 0},
          {second, &y.alpha, y.a.data(), y.b.data(), &y.beta, y.c.data(), 0, 0, 0}};
      status = tilewright_run_chain(session.context(), x.count, passes, 2, nullptr);
    }
    tilewright_plan_destroy(first), tilewright_plan_destroy(second);
    return status;
  };
  Door made{"chain",
            [&session] { session.begin(); },
            call,
            {x.output, y.output},
            [&session] { return session.message(); }};
  return made;
}

}  // namespace

Doors product_doors() {
  static Session session;
  static Batch one(5, 6, 7, 1), band(200, 6, 7, 1), large(90, 80, 70, 1), batch(5, 6, 7, 12),
      big(70, 66, 65, 3), six(6, 6, 6, 12), other_six(6, 6, 6, 12), many(8, 8, 8, 4000),
      whole(5, 6, 7, 12, 3,
            [](std::size_t p, std::size_t i, std::size_t j, std::size_t rows, std::size_t) {
              return (j * rows + i) * 12 + p;
            }),
      blocks(5, 6, 7, 12, 3,
             [](std::size_t p, std::size_t i, std::size_t j, std::size_t rows, std::size_t columns) {
               return p / 4 * 4 * rows * columns + (j * rows + i) * 4 + p % 4;
             });
  static Sum sum(batch), large_sum(big);
  tilewright_options reference{}, rows{}, checked{}, two{};
  reference.candidate = "reference", checked.checked = 1, two.threads = 2;
  (void)rows;
  return {single(session, "gemm.small", one),
          single(session, "gemm.bands", band),
          single(session, "gemm.large", large),
          single(session, "gemm.large.two_threads", large, two),
          single(session, "gemm.reference", large, reference),
          strided(session, "strided", batch),
          strided(session, "strided.many", many, two),
          strided(session, "strided.large", big, two),
          levels(session, batch),
          pointers(session, "pointers", batch),
          pointers(session, "pointers.checked", batch, checked),
          pointers(session, "pointers.large", big),
          interleaved(session, "interleaved", whole, 12),
          interleaved(session, "interleaved.blocks", blocks, 4),
          grouped(session, "grouped", batch, 4),
          grouped(session, "variable", batch, 0),
          reducing(session, "reduce.strided", sum, false),
          reducing(session, "reduce.pointers", sum, true),
          reducing(session, "reduce.large", large_sum, false),
          stacking(session, sum),
          chaining(session, six, other_six)};
}

}  // namespace tilewright::memory
