// Products and factors of host operands on GPUs, and of operands in device memory, with the fake driver; no
// doors if the library finds no GPU.
#include <array>

#include "batch.hpp"
#include "device_memory.hpp"
#include "session.hpp"
#include "system.hpp"

namespace tilewright::memory {
namespace {

constexpr auto none = TILEWRIGHT_NONE;
constexpr auto f64 = TILEWRIGHT_F64;

tilewright_options on_gpus(tilewright_target target, bool redo) {
  static const int both[] = {0, 1};
  tilewright_options options{};
  options.target = target, options.gpus = both, options.gpu_count = 2;
  options.on_device_failure = redo ? TILEWRIGHT_ON_DEVICE_FAILURE_REDO : TILEWRIGHT_ON_DEVICE_FAILURE_ERROR;
  if (target == TILEWRIGHT_TARGET_HYBRID) options.split = TILEWRIGHT_SPLIT_FIXED, options.cpu_share = 0.3;
  return options;
}

Door door(Session& session, std::string name, Batch& x, std::function<tilewright_status()> call) {
  Door made{std::move(name),
            [&session] { session.begin(); },
            std::move(call),
            {x.output},
            [&session] { return session.message(); }};
  made.may_say_undefined = made.is_warm = true;
  return made;
}

void add_products(Doors& doors, Session& session, Batch& x, Batch& batch) {
  for (const bool redo : {false, true})
    for (const auto target : {TILEWRIGHT_TARGET_GPU, TILEWRIGHT_TARGET_HYBRID}) {
      const tilewright_options options = on_gpus(target, redo);
      const std::string way =
          std::string(target == TILEWRIGHT_TARGET_GPU ? ".gpus" : ".hybrid") + (redo ? ".redo" : "");
      doors.push_back(door(session, "host" + way, x, [&session, &x, options] {
        return tilewright_gemm(session.context(), f64, none, none, x.m, x.n, x.k, &x.alpha, x.a.data(), x.m,
                               x.b.data(), x.k, &x.beta, x.c.data(), x.m, &options);
      }));
      doors.back().is_forwarded = redo;
      doors.push_back(door(session, "host_batch" + way, batch, [&session, &batch, options] {
        Batch& y = batch;
        return tilewright_gemm_strided_batched(session.context(), f64, none, none, y.m, y.n, y.k, &y.alpha,
                                               y.a.data(), y.m, y.m * y.k, y.b.data(), y.k, y.k * y.n,
                                               &y.beta, y.c.data(), y.m, y.m * y.n, y.count, &options,
                                               TILEWRIGHT_INFO_NONE, nullptr);
      }));
    }
}

// Operands in device memory, C copied there before each call and back after it.
struct OnDevice {
  explicit OnDevice(Batch& batch) : x(batch) {}
  Batch& x;
  DeviceMemory a, b, c;

  void begin() {
    a.allocate(x.a.size()), b.allocate(x.b.size()), c.allocate(x.c.size());
    a.write(x.a), b.write(x.b);
  }
};

tilewright_options on_device() {
  tilewright_options options{};
  options.location = TILEWRIGHT_DEVICE;
  return options;
}

Door device_door(Session& session, std::string name, OnDevice& o, Output output,
                 std::function<tilewright_status()> call) {
  Values& c = *output.at;
  Door made{std::move(name),
            [&session, &o] {
              session.begin();
              o.begin();
            },
            [&o, &c, call = std::move(call)] {
              o.c.write(c);
              const tilewright_status status = call();
              o.c.read(c);
              return status;
            },
            {std::move(output)},
            [&session] { return session.message(); }};
  made.is_warm = true;
  return made;
}

void add_device(Doors& doors, Session& session, OnDevice& o, Sum& sum) {
  static const tilewright_options options = on_device();
  const Batch& x = o.x;
  doors.push_back(device_door(session, "device.strided", o, x.output, [&] {
    return tilewright_gemm_strided_batched(session.context(), f64, none, none, x.m, x.n, x.k, &x.alpha,
                                           o.a.data(), x.m, x.m * x.k, o.b.data(), x.k, x.k * x.n, &x.beta,
                                           o.c.data(), x.m, x.m * x.n, x.count, &options,
                                           TILEWRIGHT_INFO_NONE, nullptr);
  }));
  doors.push_back(device_door(session, "device.reduce", o, sum.output, [&] {
    return tilewright_gemm_strided_batch_reduce(session.context(), f64, none, none, x.m, x.n, x.k, &x.alpha,
                                                o.a.data(), x.m, x.m * x.k, o.b.data(), x.k, x.k * x.n,
                                                &x.beta, o.c.data(), x.m, x.count, &options);
  }));
  doors.push_back(device_door(session, "device.stack_plan", o, sum.output, [&] {
    std::array<tilewright_stack_offsets, 300> offsets{};
    for (std::int64_t p = 0; p < x.count; ++p) offsets[std::size_t(p)] = {p * x.m * x.k, p * x.k * x.n, 0};
    const tilewright_stack stack{none,           none,    x.m,        x.n, x.k,        &x.alpha,
                                 o.a.data(),     x.m,     o.b.data(), x.k, o.c.data(), x.m,
                                 offsets.data(), nullptr, x.count};
    tilewright_stack_plan* plan = nullptr;
    tilewright_status status =
        tilewright_stack_plan_create(session.context(), f64, &stack, 1, TILEWRIGHT_HOST, &options, &plan);
    if (status == TILEWRIGHT_OK) status = tilewright_stack_plan_run(plan, &x.beta, nullptr);
    tilewright_stack_plan_destroy(plan);
    return status;
  }));
}

Door streamed(Session& session, System& s, bool redo) {
  const auto factor = [&session, &s, redo] {
    static const int both[] = {0, 1};
    tilewright_lu_options options{};
    options.candidate = "streamed", options.gpus = both, options.gpu_count = 2;
    if (redo) options.on_device_failure = TILEWRIGHT_ON_DEVICE_FAILURE_REDO;
    s.forget_pivots();
    std::int64_t info = -1;
    const tilewright_status status = tilewright_lu_factor(session.context(), f64, s.n, s.n, s.lu_at.data(),
                                                          s.n, s.pivots_written.data(), &info, &options);
    s.note_pivots();
    return status;
  };
  Door made{redo ? "lu.streamed.redo" : "lu.streamed",
            [&session] { session.begin(); },
            factor,
            {s.factors(), s.rows()},
            [&session] { return session.message(); }};
  made.is_warm = true;
  made.may_say_undefined = !redo;
  made.is_forwarded = redo;
  return made;
}

}  // namespace

Doors all_doors() {
  static Session session;
  static Batch x(90, 190, 40, 1), batch(6, 7, 5, 300);
  Doors doors;
  add_products(doors, session, x, batch);
  static OnDevice on_device_batch(batch);
  static Sum sum(batch);
  static System system(150);
  add_device(doors, session, on_device_batch, sum);
  for (const bool redo : {false, true}) doors.push_back(streamed(session, system, redo));
  return doors;
}

}  // namespace tilewright::memory
