// Contexts, plans, preparing and explaining, errors of bad arguments, conversions and buffers, tuning.
#include <filesystem>
#include <new>

#include "batch.hpp"
#include "host_doors.hpp"
#include "session.hpp"
#include "tilewright/allocate.hpp"
#include "tilewright/layout.hpp"
#include "tilewright/tilewright_tune.h"
#include "tilewright/types.hpp"

namespace tilewright::memory {
namespace {

constexpr const char* problem_text =
    "gemm_batched:f64:nn:m=7,n=7,k=7:strided:batch=9:alpha=general:beta=general";

// Converts the outcome of a C++ call to a status.
template <class F>
tilewright_status status_of(F&& f) {
  try {
    f();
    return TILEWRIGHT_OK;
  } catch (const Error& error) {
    return static_cast<tilewright_status>(static_cast<int>(error.code()));
  } catch (const std::bad_alloc&) {
    return TILEWRIGHT_OUT_OF_MEMORY;
  } catch (...) {
    return TILEWRIGHT_INTERNAL;
  }
}

tilewright_status multiply(tilewright_context* context, Batch& x,
                           const tilewright_options* options = nullptr) {
  return tilewright_gemm_strided_batched(context, TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, x.m, x.n,
                                         x.k, &x.alpha, x.a.data(), x.m, x.m * x.k, x.b.data(), x.k,
                                         x.k * x.n, &x.beta, x.c.data(), x.m, x.m * x.n, x.count, options,
                                         TILEWRIGHT_INFO_NONE, nullptr);
}

// Creates, uses and destroys a context, with or without wisdom.
Door creating(const char* name, bool wisdom, Batch& x) {
  return {name,
          [] {},
          [wisdom, &x] {
            tilewright_context* context = nullptr;
            tilewright_context_options options{};
            options.no_wisdom = wisdom ? 0 : 1;
            tilewright_status status = tilewright_create_with(&options, &context);
            if (status == TILEWRIGHT_OK) status = multiply(context, x);
            tilewright_destroy(context);
            return status;
          },
          {x.output}};
}

Doors plans(Session& session, Batch& x) {
  const auto begin = [&session] { session.begin(true); };
  const auto message = [&session] { return session.message(); };
  const auto run = [&session, &x](bool explained) {
    tilewright_plan* plan = nullptr;
    tilewright_status status = tilewright_plan_create(session.context(), problem_text, nullptr, &plan);
    if (status != TILEWRIGHT_OK) return status;
    status = tilewright_plan_run(plan, &x.alpha, x.a.data(), x.b.data(), &x.beta, x.c.data());
    if (status == TILEWRIGHT_OK && explained && *tilewright_plan_explain(plan) == '\0')
      status = TILEWRIGHT_INTERNAL;
    tilewright_plan_destroy(plan);
    return status;
  };
  const auto prepare = [&session, &x] {
    const char* const texts[] = {problem_text, "gemm:f32:tn:m=5,n=6,k=7", "gemm:f64:nn:m=100,n=100,k=100"};
    const tilewright_status status = tilewright_prepare(session.context(), texts, 3, nullptr);
    return status == TILEWRIGHT_OK ? multiply(session.context(), x) : status;
  };
  const auto forced = [&session, &x] {
    tilewright_options options{};
    options.candidate = "cpu_small", options.residency = TILEWRIGHT_RESIDENCY_L2;
    return multiply(session.context(), x, &options);
  };
  return {{"plan", begin, [run] { return run(false); }, {x.output}, message},
          {"plan.explain", begin, [run] { return run(true); }, {x.output}, message},
          {"prepare", begin, prepare, {x.output}, message},
          {"call_with_wisdom",
           begin,
           [&session, &x] { return multiply(session.context(), x); },
           {x.output},
           message},
          {"call_with_options", begin, forced, {x.output}, message}};
}

// A refusal stays a refusal, unless there is no memory for its message.
Door refusing(Session& session, Batch& x) {
  const auto refused = [&session, &x] {
    const tilewright_status status =
        tilewright_gemm(session.context(), TILEWRIGHT_F64, TILEWRIGHT_NONE, TILEWRIGHT_NONE, x.m, x.n, x.k,
                        &x.alpha, x.a.data(), 1, x.b.data(), x.k, &x.beta, x.c.data(), x.m, nullptr);
    if (status == TILEWRIGHT_INVALID_ARGUMENT || status == TILEWRIGHT_OUT_OF_MEMORY)
      return multiply(session.context(), x);
    return TILEWRIGHT_INTERNAL;
  };
  return {"refusal",
          [&session] { session.begin(); },
          refused,
          {x.output},
          [&session] { return session.message(); }};
}

Door converting() {
  static Values strided(7 * 5 * 12), interleaved(7 * 5 * 12), back(7 * 5 * 12);
  for (std::size_t i = 0; i < strided.size(); ++i) strided[i] = double(i);
  Values right(strided.size());
  for (std::size_t p = 0; p < 12; ++p)
    for (std::size_t e = 0; e < 35; ++e) right[p / 4 * 4 * 35 + e * 4 + p % 4] = strided[p * 35 + e];
  const auto both = [] {
    return status_of([] {
      const InterleavedBatch<double> to{interleaved.data(), 7, 5, 7, 4, 12};
      interleave<double>(StridedBatch<const double>{{strided.data(), 7, 5, 7}, 35, 12}, to);
      deinterleave<double>(InterleavedBatch<const double>{interleaved.data(), 7, 5, 7, 4, 12},
                           StridedBatch<double>{{back.data(), 7, 5, 7}, 35, 12});
    });
  };
  return {"conversions",
          [] {},
          both,
          {{&interleaved, Values(strided.size(), -1), right}, {&back, Values(strided.size(), -1), strided}}};
}

Door allocating() {
  static Values seen(1);
  const auto allocate = [] {
    return status_of([] {
      for (const Placement placement : {Placement::first_touch, Placement::per_node, Placement::interleave}) {
        const BatchBuffer buffer = allocate_batch(4096, 100, placement, 2);
        seen[0] += buffer.as<double>()[512];
      }
      seen[0] += 1;
    });
  };
  return {"allocate_batch", [] {}, allocate, {{&seen, {0}, {1}}}};
}

// Starts a search that its caller ends at once, in a database of its own.
Door tuning(Session& session, Batch& x) {
  const auto begin = [&session] {
    static char folder[] = "/tmp/tilewright-memory-XXXXXX";
    if (mkdtemp(folder) == nullptr) std::exit(99);
    setenv("XDG_DATA_HOME", folder, 1);
    std::atexit([] { std::filesystem::remove_all(folder); });
    session.begin(true);
  };
  const auto tune = [&session, &x] {
    const char* const texts[] = {"gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=100:residency=l1"};
    tilewright_tune_options options{};
    options.budget_s = 60;  // `progress` ends it after the first sample
    options.progress = [](void*, const char*, std::int64_t, double) { return 0; };
    std::int64_t found = -1;
    const tilewright_status status = tilewright_tune(session.context(), texts, 1, &options, nullptr, &found);
    return status == TILEWRIGHT_OK ? multiply(session.context(), x) : status;
  };
  return {"tune", begin, tune, {x.output}, [&session] { return session.message(); }};
}

}  // namespace

Doors context_doors() {
  static Session session;
  static Batch x(7, 7, 7, 9);
  Doors doors = plans(session, x);
  doors.push_back(creating("create", false, x));
  doors.push_back(creating("create.wisdom", true, x));
  doors.push_back(refusing(session, x));
  doors.push_back(converting());
  doors.push_back(allocating());
  doors.push_back(tuning(session, x));
  return doors;
}

}  // namespace tilewright::memory
