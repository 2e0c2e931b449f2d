// Products and factors of host operands on GPUs, and of operands in device memory, beside the fake driver;
// none where the library sees no GPU.
#include "batch.hpp"
#include "session.hpp"

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
      doors.push_back(door(session, "host_batch" + way, batch, [&session, &batch, options] {
        Batch& y = batch;
        return tilewright_gemm_strided_batched(session.context(), f64, none, none, y.m, y.n, y.k, &y.alpha,
                                               y.a.data(), y.m, y.m * y.k, y.b.data(), y.k, y.k * y.n,
                                               &y.beta, y.c.data(), y.m, y.m * y.n, y.count, &options,
                                               TILEWRIGHT_INFO_NONE, nullptr);
      }));
    }
}

}  // namespace

Doors all_doors() {
  static Session session;
  static Batch x(90, 190, 40, 1), batch(6, 7, 5, 300);
  Doors doors;
  add_products(doors, session, x, batch);
  return doors;
}

}  // namespace tilewright::memory
