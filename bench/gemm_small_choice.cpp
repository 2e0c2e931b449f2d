// Draws, forecasts and seeds.
#include "gemm_small_choice.hpp"

#include <algorithm>

#include "gemm_small_axis.hpp"
#include "gemm_small_check.hpp"
#include "gemm_small_rows.hpp"
#include "work_sharing.hpp"

namespace tilewright::bench {
namespace {

using Configs = std::vector<GemmSmallConfig>;

constexpr std::size_t values_per_axis = 12;

// The promising configs of a case, and those that were good before.
Configs candidates(const Job& job, const Flags& flags, const Configs& seeds, const GpuLimits& limits) {
  const GemmProblem& p = job.named.one.problem;
  Configs configs = gemm_small_promising(job.shape, p.dtype, limits, flags.configs, forecast_count(p));
  for (const GemmSmallConfig& seed : seeds)
    if (std::find(configs.begin(), configs.end(), seed) == configs.end()) configs.push_back(seed);
  return configs;
}

// Long pieces of unrolled code take minutes to compile, and where sizes vary each thread tile is one.
bool compiles_soon(const GemmSmallConfig& c, const Job& job) {
  constexpr int most = 2048;
  const GemmSmallShape& s = job.shape;
  const int products = is_complex(job.named.one.problem.dtype) ? 4 : 1;
  const int unrolled = c.k_unroll == 0 ? s.k : std::min(c.k_unroll, s.k);
  const int heights = s.sizes_vary ? c.thread_m * gemm_small_own_m / c.size_step : 1;
  return unrolled * c.thread_m * c.thread_n * products * heights <= most;
}

// Configs that differ from the first seeds in a field or two, which come from draws of the whole space.
void add_neighbours(Configs& configs, const Configs& seeds, std::size_t count, const Job& job,
                    const Space<GemmSmallConfig>& space) {
  constexpr std::size_t most_seeds = 3, tries_each = 100;
  if (seeds.empty()) return;
  std::mt19937 random(17);
  const std::size_t wanted = configs.size() + count;
  for (std::size_t t = 0; t < count * tries_each && configs.size() < wanted; ++t) {
    GemmSmallConfig config = seeds[random() % std::min(most_seeds, seeds.size())];
    const auto drawn = space.sample(1, random);
    if (drawn.empty()) return;
    for_each_field<GemmSmallConfig>([&](const auto& field) {
      if (random() % 8 == 0) config.*(field.member) = drawn[0].*(field.member);
    });
    if (compiles_soon(config, job) && space.contains(config) &&
        std::find(configs.begin(), configs.end(), config) == configs.end())
      configs.push_back(config);
  }
}

// The best seed, else what the forecast puts first.
GemmSmallConfig best_known(const Job& job, const Configs& seeds, const GpuLimits& limits) {
  if (!seeds.empty()) return seeds.front();
  const GemmProblem& p = job.named.one.problem;
  return gemm_small_default(job.shape, p.dtype, limits, forecast_count(p));
}

void choose(Job& job, const Flags& flags, const Seeds& seeds, const GpuLimits& limits) {
  const GemmProblem& p = job.named.one.problem;
  const auto space = gemm_small_space(job.shape, p.dtype, limits);
  Configs legal = seeds.of(p), configs;
  std::erase_if(legal, [&](const GemmSmallConfig& seed) { return !space.contains(seed); });
  if (flags.once || !flags.axis.empty()) job.base = best_known(job, legal, limits);
  if (flags.once)
    configs = {*job.base};
  else if (!flags.axis.empty())
    configs = configs_along(flags.axis, *job.base, job.shape, space, values_per_axis);
  else
    configs = candidates(job, flags, legal, limits);
  if (job.base == std::nullopt) add_neighbours(configs, legal, flags.neighbours, job, space);
  for (const GemmSmallConfig& config : configs) job.trials.push_back({config, {}, {}, nullptr});
}

// The forecasts of hundreds of cases take seconds on one core.
void choose_all(std::deque<Job>& jobs, const Flags& flags, const GpuLimits& limits) {
  const Seeds seeds(flags.seeds);
  share_work(jobs.size(), all_cores(), [&](std::size_t i) { choose(jobs[i], flags, seeds, limits); });
}

Job job_of(NamedCase named) {
  Job job;
  job.named = std::move(named);
  job.shape = shape_of(job.named.one);
  return job;
}

}  // namespace

GemmSmallShape shape_of(const SmallCase& one) {
  return gemm_small_shape(one.problem, alignment_of(one), one.scalars_vary);
}

std::deque<Job> choose_jobs(const Flags& flags, const GpuLimits& limits) {
  std::deque<Job> jobs;
  std::size_t number = 0;
  for (const std::string& group : flags.groups)
    for (NamedCase& named : cases_of(group, flags.cases))
      if (number++ % flags.shards == flags.shard) jobs.push_back(job_of(std::move(named)));
  choose_all(jobs, flags, limits);
  return jobs;
}

std::deque<Job> draw_jobs(const Flags& flags, const GpuLimits& limits) {
  std::mt19937 random(99);
  std::deque<Job> jobs;
  for (int i = 0; i < flags.variety; ++i) {
    const DType dtype = flags.cases.dtypes[static_cast<std::size_t>(i) % flags.cases.dtypes.size()];
    Job job = job_of({"variety", any_case(dtype, random)});
    const auto space = gemm_small_space(job.shape, dtype, limits);
    for (auto config : space.sample(flags.configs, random)) {
      if (config.k_unroll == 0) config.k_unroll = std::min(4, job.shape.k);
      const double work = double(config.matrices_per_block) * job.shape.m * job.shape.n * (job.shape.k + 1);
      if (space.contains(config) && work < 3e5) job.trials.push_back({config, {}, {}, nullptr});
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace tilewright::bench
