// The tables of options that mean nothing, or ask for what cannot be had without a GPU, a meter or a tuner.
#include "golden/spoiled_options.hpp"

namespace tilewright::golden {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class E>
constexpr E none_of = static_cast<E>(7);

void* some_stream() { return reinterpret_cast<void*>(std::uintptr_t(16)); }

constexpr SpoiledOption<GemmOptions> gemm_options[] = {
    {"target=7", [](auto& o) { o.target = none_of<Target>; }},
    {"target=gpu", [](auto& o) { o.target = Target::gpu; }},
    {"target=hybrid", [](auto& o) { o.target = Target::hybrid; }},
    {"objective=7", [](auto& o) { o.objective = none_of<Objective>; }},
    {"objective=alpha", [](auto& o) { o.objective = Objective::alpha; }},
    {"objective_weight=0.5", [](auto& o) { o.objective_weight = 0.5; }},
    {"objective=alpha,objective_weight=-1",
     [](auto& o) { o.objective = Objective::alpha, o.objective_weight = -1; }},
    {"objective=alpha,objective_weight=2",
     [](auto& o) { o.objective = Objective::alpha, o.objective_weight = 2; }},
    {"objective=alpha,objective_weight=nan",
     [](auto& o) { o.objective = Objective::alpha, o.objective_weight = nan; }},
    {"objective=energy_within,objective_weight=-1",
     [](auto& o) { o.objective = Objective::energy_within, o.objective_weight = -1; }},
    {"math_mode=7", [](auto& o) { o.math_mode = none_of<MathMode>; }},
    {"threads=-1", [](auto& o) { o.threads = -1; }},
    {"threads=4097", [](auto& o) { o.threads = 4097; }},
    {"threads=INT_MAX", [](auto& o) { o.threads = std::numeric_limits<int>::max(); }},
    {"residency=7", [](auto& o) { o.residency = none_of<Residency>; }},
    {"arrival=7", [](auto& o) { o.arrival = none_of<Arrival>; }},
    {"candidate=x", [](auto& o) { o.candidate = "x"; }},
    {"candidate=gemm", [](auto& o) { o.candidate = "gemm"; }},
    {"config=x", [](auto& o) { o.config = "x"; }},
    {"config=8", [](auto& o) { o.config = "8"; }},
    {"config={x:1}", [](auto& o) { o.config = R"({"x": 1})"; }},
    {"config={nr:x}", [](auto& o) { o.config = R"({"nr": "x"})"; }},
    {"config={nr:0}", [](auto& o) { o.config = R"({"nr": 0})"; }},
    {"tune_on_miss_s=-1", [](auto& o) { o.tune_on_miss_s = -1; }},
    {"tune_on_miss_s=nan", [](auto& o) { o.tune_on_miss_s = nan; }},
    {"tune_on_miss_s=1", [](auto& o) { o.tune_on_miss_s = 1; }},
    {"gpus={-1}", [](auto& o) { o.gpus = {-1}; }},
    {"gpus={0,0}",
     [](auto& o) {
       o.gpus = {0, 0};
     }},
    {"target=gpu,gpus={7}", [](auto& o) { o.target = Target::gpu, o.gpus = {7}; }},
    {"gpu_memory_bytes=-1", [](auto& o) { o.gpu_memory_bytes = -1; }},
    {"split=7", [](auto& o) { o.split = none_of<SplitRule>; }},
    {"split=fixed", [](auto& o) { o.split = SplitRule::fixed; }},
    {"cpu_share=0.5", [](auto& o) { o.cpu_share = 0.5; }},
    {"split=fixed,cpu_share=-1", [](auto& o) { o.split = SplitRule::fixed, o.cpu_share = -1; }},
    {"split=fixed,cpu_share=2", [](auto& o) { o.split = SplitRule::fixed, o.cpu_share = 2; }},
    {"split=fixed,cpu_share=nan", [](auto& o) { o.split = SplitRule::fixed, o.cpu_share = nan; }},
    {"split=fixed,cpu_share=0.5", [](auto& o) { o.split = SplitRule::fixed, o.cpu_share = 0.5; }},
    {"target=gpu,split=fixed,cpu_share=0.5",
     [](auto& o) { o.target = Target::gpu, o.split = SplitRule::fixed, o.cpu_share = 0.5; }},
    {"target=gpu,split=guided", [](auto& o) { o.target = Target::gpu, o.split = SplitRule::guided; }},
    {"target=cpu,split=guided", [](auto& o) { o.target = Target::cpu, o.split = SplitRule::guided; }},
    {"on_device_failure=7", [](auto& o) { o.on_device_failure = none_of<OnDeviceFailure>; }},
    {"learn=7", [](auto& o) { o.learn = none_of<Learn>; }},
    {"device=-1", [](auto& o) { o.queue.device = -1; }},
    {"device=7", [](auto& o) { o.queue.device = 7; }},
    {"stream=0x10", [](auto& o) { o.queue.stream = static_cast<CUstream_st*>(some_stream()); }},
    {"align_bytes=-1", [](auto& o) { o.align_bytes = -1; }},
    {"align_bytes=3", [](auto& o) { o.align_bytes = 3; }},
};

constexpr SpoiledOption<LuOptions> lu_options[] = {
    {"target=7", [](auto& o) { o.target = none_of<Target>; }},
    {"target=gpu", [](auto& o) { o.target = Target::gpu; }},
    {"target=hybrid", [](auto& o) { o.target = Target::hybrid; }},
    {"threads=-1", [](auto& o) { o.threads = -1; }},
    {"threads=4097", [](auto& o) { o.threads = 4097; }},
    {"threads=INT_MAX", [](auto& o) { o.threads = std::numeric_limits<int>::max(); }},
    {"candidate=x", [](auto& o) { o.candidate = "x"; }},
    {"candidate=panels", [](auto& o) { o.candidate = "panels"; }},
    {"candidate=streamed", [](auto& o) { o.candidate = "streamed"; }},
    {"nb=-1", [](auto& o) { o.nb = -1; }},
    {"candidate=blocked,nb=INT64_MAX", [](auto& o) { o.candidate = "blocked", o.nb = int64_max; }},
    {"select=7", [](auto& o) { o.select = none_of<LuSelect>; }},
    {"gpus={-1}", [](auto& o) { o.gpus = {-1}; }},
    {"gpus={0,0}",
     [](auto& o) {
       o.gpus = {0, 0};
     }},
    {"gpu_memory_bytes=-1", [](auto& o) { o.gpu_memory_bytes = -1; }},
    {"on_device_failure=7", [](auto& o) { o.on_device_failure = none_of<OnDeviceFailure>; }},
    {"device=-1", [](auto& o) { o.device = -1; }},
    {"device=7", [](auto& o) { o.device = 7; }},
};

constexpr int minus_one[] = {-1}, twice[] = {0, 0}, seven[] = {7};

constexpr SpoiledOption<tilewright_options> c_options[] = {
    {"target=-1", [](auto& o) { o.target = -1; }},
    {"target=7", [](auto& o) { o.target = 7; }},
    {"target=gpu", [](auto& o) { o.target = TILEWRIGHT_TARGET_GPU; }},
    {"target=hybrid", [](auto& o) { o.target = TILEWRIGHT_TARGET_HYBRID; }},
    {"objective=-1", [](auto& o) { o.objective = -1; }},
    {"objective=7", [](auto& o) { o.objective = 7; }},
    {"objective_weight=0.5", [](auto& o) { o.objective_weight = 0.5; }},
    {"objective=alpha,objective_weight=2",
     [](auto& o) { o.objective = TILEWRIGHT_OBJECTIVE_ALPHA, o.objective_weight = 2; }},
    {"objective=alpha,objective_weight=nan",
     [](auto& o) { o.objective = TILEWRIGHT_OBJECTIVE_ALPHA, o.objective_weight = nan; }},
    {"objective=energy_within,objective_weight=-1",
     [](auto& o) { o.objective = TILEWRIGHT_OBJECTIVE_ENERGY_WITHIN, o.objective_weight = -1; }},
    {"threads=-1", [](auto& o) { o.threads = -1; }},
    {"threads=4097", [](auto& o) { o.threads = 4097; }},
    {"residency=-1", [](auto& o) { o.residency = -1; }},
    {"residency=7", [](auto& o) { o.residency = 7; }},
    {"arrival=7", [](auto& o) { o.arrival = 7; }},
    {"candidate=x", [](auto& o) { o.candidate = "x"; }},
    {"config=x", [](auto& o) { o.config = "x"; }},
    {"config={x:1}", [](auto& o) { o.config = R"({"x": 1})"; }},
    {"location=-1", [](auto& o) { o.location = -1; }},
    {"location=7", [](auto& o) { o.location = 7; }},
    {"device=-1", [](auto& o) { o.device = -1; }},
    {"stream=0x10", [](auto& o) { o.stream = some_stream(); }},
    {"align_bytes=-1", [](auto& o) { o.align_bytes = -1; }},
    {"align_bytes=3", [](auto& o) { o.align_bytes = 3; }},
    {"tune_on_miss_s=-1", [](auto& o) { o.tune_on_miss_s = -1; }},
    {"tune_on_miss_s=nan", [](auto& o) { o.tune_on_miss_s = nan; }},
    {"tune_on_miss_s=1", [](auto& o) { o.tune_on_miss_s = 1; }},
    {"gpus={-1}", [](auto& o) { o.gpus = minus_one, o.gpu_count = 1; }},
    {"gpus={0,0}", [](auto& o) { o.gpus = twice, o.gpu_count = 2; }},
    {"target=gpu,gpus={7}",
     [](auto& o) { o.target = TILEWRIGHT_TARGET_GPU, o.gpus = seven, o.gpu_count = 1; }},
    {"gpu_count=1", [](auto& o) { o.gpu_count = 1; }},
    {"gpu_count=-1", [](auto& o) { o.gpus = seven, o.gpu_count = -1; }},
    {"gpu_memory_bytes=-1", [](auto& o) { o.gpu_memory_bytes = -1; }},
    {"split=-1", [](auto& o) { o.split = -1; }},
    {"split=7", [](auto& o) { o.split = 7; }},
    {"cpu_share=0.5", [](auto& o) { o.cpu_share = 0.5; }},
    {"split=fixed,cpu_share=2", [](auto& o) { o.split = TILEWRIGHT_SPLIT_FIXED, o.cpu_share = 2; }},
    {"split=fixed,cpu_share=0.5", [](auto& o) { o.split = TILEWRIGHT_SPLIT_FIXED, o.cpu_share = 0.5; }},
    {"on_device_failure=-1", [](auto& o) { o.on_device_failure = -1; }},
    {"on_device_failure=7", [](auto& o) { o.on_device_failure = 7; }},
    {"learn=7", [](auto& o) { o.learn = 7; }},
    {"alpha_per_problem=1", [](auto& o) { o.alpha_per_problem = 1; }},
    {"beta_per_problem=1", [](auto& o) { o.beta_per_problem = 1; }},
};

constexpr SpoiledOption<tilewright_lu_options> c_lu_options[] = {
    {"target=-1", [](auto& o) { o.target = -1; }},
    {"target=7", [](auto& o) { o.target = 7; }},
    {"target=gpu", [](auto& o) { o.target = TILEWRIGHT_TARGET_GPU; }},
    {"threads=-1", [](auto& o) { o.threads = -1; }},
    {"threads=4097", [](auto& o) { o.threads = 4097; }},
    {"candidate=x", [](auto& o) { o.candidate = "x"; }},
    {"nb=-1", [](auto& o) { o.nb = -1; }},
    {"select=-1", [](auto& o) { o.select = -1; }},
    {"select=7", [](auto& o) { o.select = 7; }},
    {"gpus={-1}", [](auto& o) { o.gpus = minus_one, o.gpu_count = 1; }},
    {"gpus={0,0}", [](auto& o) { o.gpus = twice, o.gpu_count = 2; }},
    {"gpu_count=1", [](auto& o) { o.gpu_count = 1; }},
    {"gpu_count=-1", [](auto& o) { o.gpus = seven, o.gpu_count = -1; }},
    {"gpu_memory_bytes=-1", [](auto& o) { o.gpu_memory_bytes = -1; }},
    {"on_device_failure=-1", [](auto& o) { o.on_device_failure = -1; }},
    {"on_device_failure=7", [](auto& o) { o.on_device_failure = 7; }},
    {"device=-1", [](auto& o) { o.device = -1; }},
};

}  // namespace

std::span<const SpoiledOption<GemmOptions>> spoiled_gemm_options() { return gemm_options; }
std::span<const SpoiledOption<LuOptions>> spoiled_lu_options() { return lu_options; }
std::span<const SpoiledOption<tilewright_options>> spoiled_c_options() { return c_options; }
std::span<const SpoiledOption<tilewright_lu_options>> spoiled_c_lu_options() { return c_lu_options; }

}  // namespace tilewright::golden
