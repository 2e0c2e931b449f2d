// Chooses pieces by the bytes of an element and half of a cache; runners do the rest.
#include "gemm/cpu_small/chain.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "core/per_thread.hpp"
#include "core/product/faults.hpp"
#include "core/quantity.hpp"
#include "core/refuse.hpp"
#include "device/cpu.hpp"
#include "gemm/parallel.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {
namespace {

constexpr int most_scratch = 64;
constexpr std::int64_t room_multiple = 4096;
constexpr const char* operand_names[] = {"a", "b", "c"};

[[noreturn]] void refuse_pass(std::size_t index, ErrorCode code, const char* argument,
                              const std::string& message) {
  throw Error(code, argument, fmt::format("pass {}: {}", index, message), std::int64_t(index));
}
[[noreturn]] void refuse_pass(std::size_t index, const char* argument, const std::string& message) {
  refuse_pass(index, ErrorCode::invalid_argument, argument, message);
}

// Returns the problems of an element: whole parts of the outermost level, at equal distances.
std::int64_t problems_of_element(std::size_t index, const GemmProblem& p, std::int64_t count) {
  const auto levels = batch_levels(p);
  std::int64_t within = 1, outermost = levels[0].count;
  for (std::size_t i = 1; i < levels.size(); ++i)
    if (levels[i].count > 1) within *= outermost, outermost = levels[i].count;
  if (count == 0 ? p.batch_count != 0 : outermost % count != 0)
    refuse_pass(
        index, "count",
        fmt::format("count = {} elements does not divide the outermost level of {}, which has {} parts",
                    count, to_string(p), outermost));
  return count == 0 ? 0 : within * (outermost / count);
}

void check_problem(std::size_t index, const GemmProblem& p, DType dtype, Location location) {
  if (p.dtype != dtype)
    refuse_pass(
        index, "dtype",
        fmt::format("the plan is for {} but the operands are {}", to_string(p.dtype), to_string(dtype)));
  if (p.sums != Sums::none)
    refuse_pass(index, "plan", fmt::format("{} is not a batch of products with one C each", to_string(p)));
  if (p.layout != Layout::strided)
    refuse_pass(index, "layout",
                fmt::format("layout = {}, but a chain takes strided batches", to_string(p.layout)));
  if (p.location != location)
    refuse_pass(index, "location",
                fmt::format("its operands are in {} memory, but those of pass 0 are in {} memory",
                            to_string(p.location), to_string(location)));
}

bool writes(const GemmProblem& p) { return p.m != 0 && p.n != 0 && p.batch_count != 0; }

// Returns the elements from the first of the first matrix to the end of the last.
std::int64_t span_of(const OperandLayout& x, std::int64_t problems) {
  if (problems == 0 || x.rows == 0 || x.cols == 0) return 0;
  return x.offset(problems - 1) + (x.cols - 1) * x.ld + x.rows;
}

// Memory of the calling thread, kept from chain to chain because fresh pages cost time.
class ChainMemory {
 public:
  std::byte* get(std::size_t bytes) {
    if (bytes <= bytes_) return memory_.get();
    memory_.reset();
    bytes_ = 0;
    auto* fresh =
        static_cast<std::byte*>(::operator new(bytes, std::align_val_t(room_multiple), std::nothrow));
    if (fresh == nullptr)
      throw Error(ErrorCode::out_of_memory, "scratch",
                  fmt::format("{} bytes of scratch cannot be allocated", bytes));
    memory_.reset(fresh);
    bytes_ = bytes;
    return fresh;
  }
  // Returns more than this to the system after the chain.
  void trim() {
    constexpr std::size_t kept_bytes = 16 << 20;
    if (bytes_ > kept_bytes) memory_.reset(), bytes_ = 0;
  }

 private:
  struct Delete {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t(room_multiple)); }
  };
  std::unique_ptr<std::byte, Delete> memory_;
  std::size_t bytes_ = 0;
};

struct Caches {
  std::int64_t l1, l2;
};
// Falls back to common sizes.
Caches caches() {
  const CpuInfo& cpu = cpu_info();
  return {cpu.l1d_bytes > 0 ? cpu.l1d_bytes : 32 << 10, cpu.l2_bytes > 0 ? cpu.l2_bytes : 512 << 10};
}

// Returns the elements that half of a first-level cache holds, but a few to share the fixed cost of a pass,
// if half of the second-level cache holds these. On a Sapphire Rapids Xeon with AVX-512, six contractions in
// pieces of four elements were 1.5 to 1.1 times as fast for p = 3 to 6 as in pieces of half its second-level
// cache, and 0.95 and 0.98 times for p = 7 and 8; with AVX2 there was no clear difference.
std::int64_t default_piece(std::int64_t element_bytes) {
  constexpr std::int64_t least_elements = 4;
  const std::int64_t each = std::max<std::int64_t>(1, element_bytes);
  return std::max(caches().l1 / 2 / each, std::min(least_elements, caches().l2 / 2 / each));
}

}  // namespace

const void* Chain::Pass::data(std::size_t operand) const {
  return operand == 0 ? operands.a : operand == 1 ? operands.b : operands.c;
}

Chain::Chain(DType dtype, std::int64_t count, const std::vector<ErasedPass>& passes,
             const ChainOptions& options)
    : count_(count), options_(options), written_(most_scratch + 1) {
  refuse_negative("count", count);
  refuse_negative("piece", options.piece);
  check_threads(options.threads);
  for (std::size_t i = 0; i < passes.size(); ++i) add(i, dtype, passes[i]);
  choose_piece();
}

void Chain::add(std::size_t index, DType dtype, const ErasedPass& given) {
  if (given.plan == nullptr) refuse_pass(index, "plan", "plan is null");
  const GemmPlan::Impl& plan = Access::impl(*given.plan);
  const GemmProblem& p = plan.problem;
  check_problem(index, p, dtype, passes_.empty() ? p.location : passes_[0].plan->problem.location);
  Pass pass{&plan, given.operands, given.scratch, {layout_a(p), layout_b(p), layout_c(p)}, 0};
  pass.problems = problems_of_element(index, p, count_);
  if (p.location == Location::device) pass.operands.stream = options_.stream;
  if (p.location == Location::host && options_.stream != nullptr)
    refuse_pass(index, "stream", "a stream is given, but the operands are in host memory");
  if (p.location == Location::host && !plan.runner->runs_parts())
    refuse_pass(index, ErrorCode::unsupported, "plan",
                fmt::format("{} runs whole batches only; make the plan with target = cpu", plan.candidate));
  check_scratch(index, pass);
  for (std::size_t i = 0; i < 3; ++i) {
    const bool is_used = writes(p) && (i == 2 || reads_ab(p));
    if (is_used && given.scratch[i] == 0 && pass.data(i) == nullptr)
      refuse_pass(index, operand_names[i], fmt::format("{} is null", operand_names[i]));
    if (i < 2 && is_used && given.scratch[i] == given.scratch[2] && pass.data(i) == pass.data(2))
      refuse_pass(index, "c", fmt::format("c has the address of {}: {}", operand_names[i], in_place_reason));
  }
  try {
    check_call(plan, pass.operands);
  } catch (const Error& error) {
    throw Error(error.code(), error.argument(), fmt::format("pass {}: {}", index, error.what()),
                std::int64_t(index));
  }
  passes_.push_back(pass);
}

void Chain::check_scratch(std::size_t index, const Pass& pass) {
  const GemmProblem& p = pass.plan->problem;
  for (std::size_t i = 0; i < 3; ++i) {
    const int number = pass.scratch[i];
    if (number == 0) continue;
    if (number < 0 || number > most_scratch)
      refuse_pass(
          index, operand_names[i],
          fmt::format("{} = scratch {} is not between 1 and {}", operand_names[i], number, most_scratch));
    if (p.location == Location::device)
      refuse_pass(
          index, ErrorCode::unsupported, operand_names[i],
          fmt::format("{} = scratch {}: a chain in device memory has no scratch", operand_names[i], number));
    const bool reads = i < 2 ? reads_ab(p) : p.beta != Scalar::zero;
    if (!reads) continue;
    const std::int64_t written = written_[std::size_t(number)],
                       read = span_of(pass.layouts[i], pass.problems);
    if (written == 0)
      refuse_pass(index, operand_names[i],
                  fmt::format("{} = scratch {}, which no pass before it writes", operand_names[i], number));
    if (read > written)
      refuse_pass(index, operand_names[i],
                  fmt::format("{} = scratch {} spans {} numbers of an element, but passes before it write {}",
                              operand_names[i], number, read, written));
  }
  if (pass.scratch[2] > 0) {
    std::int64_t& written = written_[std::size_t(pass.scratch[2])];
    written = std::max(written, span_of(pass.layouts[2], pass.problems));
  }
}

// Returns the bytes that one more element adds to a piece: none for operands shared by all elements.
std::int64_t Chain::bytes_of_element(const Pass& pass, std::size_t operand) const {
  const OperandLayout& x = pass.layouts[operand];
  const bool moves = count_ > 1 && x.offset(pass.problems) != 0;
  if (!moves && count_ > 1) return 0;
  const auto matrix = double(x.rows) * double(x.cols), all = matrix * double(pass.problems);
  // The span is smaller if matrices are broadcast within the element, or share lines.
  const double span = double(span_of(x, pass.problems));
  return std::int64_t(std::min(all, span)) * size_bytes(pass.plan->problem.dtype);
}

// An operand of several passes counts once.
std::int64_t Chain::element_bytes() const {
  struct Seen {
    int scratch;
    const void* data;
    std::int64_t bytes;
  };
  std::vector<Seen> seen;
  for (const Pass& pass : passes_)
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t bytes = bytes_of_element(pass, i);
      const auto same = std::find_if(seen.begin(), seen.end(), [&](const Seen& x) {
        return x.scratch == pass.scratch[i] && (x.scratch > 0 || x.data == pass.data(i));
      });
      if (same == seen.end())
        seen.push_back({pass.scratch[i], pass.data(i), bytes});
      else
        same->bytes = std::max(same->bytes, bytes);
    }
  std::int64_t total = 0;
  for (const Seen& x : seen) total += x.bytes;
  return total;
}

std::int64_t Chain::room_bytes(int number, std::int64_t piece) const {
  std::int64_t elements = 0;
  for (const Pass& pass : passes_)
    for (std::size_t i = 0; i < 3; ++i)
      if (pass.scratch[i] == number)
        elements = std::max(elements, span_of(pass.layouts[i], piece * pass.problems));
  return elements * size_bytes(passes_[0].plan->problem.dtype);
}

void Chain::choose_piece() {
  if (passes_.empty() || count_ == 0 || passes_[0].plan->problem.location == Location::device) return;
  double seconds = 0;
  for (const Pass& pass : passes_) seconds += estimate_s(pass.plan->problem);
  threads_ = threads_for(seconds, options_.threads);
  piece_ = options_.piece > 0 ? options_.piece : default_piece(element_bytes());
  const std::int64_t share = (count_ + threads_ - 1) / threads_;
  piece_ = std::clamp<std::int64_t>(piece_, 1, std::max<std::int64_t>(1, share));
  int last = 0;
  for (const Pass& pass : passes_)
    for (const int number : pass.scratch) last = std::max(last, number);
  rooms_.push_back(0);
  for (int number = 1; number <= last; ++number) {
    const std::int64_t bytes = room_bytes(number, piece_);
    // One more line, so that equal offsets in two rooms do not share cache sets.
    const std::int64_t room =
        bytes == 0 ? 0 : (bytes + room_multiple - 1) / room_multiple * room_multiple + 64;
    rooms_.push_back(rooms_.back() + room);
  }
}

void Chain::run_piece(std::byte* scratch, std::int64_t first, std::int64_t count) const {
  const std::int64_t size = size_bytes(passes_[0].plan->problem.dtype);
  for (const Pass& pass : passes_) {
    if (!writes(pass.plan->problem)) continue;
    const std::int64_t problem = first * pass.problems;
    const auto address = [&](std::size_t i) -> const void* {
      if (pass.scratch[i] > 0) return scratch + rooms_[std::size_t(pass.scratch[i] - 1)];
      return advanced(pass.data(i), pass.layouts[i].offset(problem) * size);
    };
    Operands o = pass.operands;
    o.a = address(0), o.b = address(1), o.c = const_cast<void*>(address(2));
    o.alpha = advanced(o.alpha, problem * o.alpha_stride * size);
    o.beta = advanced(o.beta, problem * o.beta_stride * size);
    pass.plan->runner->run_part(o, 0, count * pass.problems, 1);
  }
}

void Chain::run_on_host() const {
  ChainMemory& memory = PerThread<ChainMemory>::own();
  // Whole pages for each thread.
  const std::int64_t each = (rooms_.back() + room_multiple - 1) / room_multiple * room_multiple;
  std::byte* const scratch = each == 0 ? nullptr : memory.get(std::size_t(each * threads_));
  run_team(threads_, [&](std::int64_t thread, std::int64_t thread_count) {
    const IndexShare share = share_of_thread(count_, 1, thread, thread_count);
    for (std::int64_t done = 0; done < share.count; done += piece_)
      run_piece(scratch == nullptr ? nullptr : scratch + each * thread, share.first + done,
                std::min(piece_, share.count - done));
  });
  memory.trim();
}

void Chain::run() const {
  if (passes_.empty() || count_ == 0) return;
  if (passes_[0].plan->problem.location == Location::host) return run_on_host();
  for (const Pass& pass : passes_) execute_checked(*pass.plan, pass.operands);
}

std::string Chain::explain() const {
  const bool on_device = !passes_.empty() && passes_[0].plan->problem.location == Location::device;
  std::string text = fmt::format("chain      {} passes over {} elements\n", passes_.size(), count_);
  if (on_device)
    text += "pieces     none: passes are queued one after the other\n";
  else if (!passes_.empty() && count_ > 0)
    text += fmt::format(
        "pieces     {} elements of {} bytes each, {}\nscratch    {} bytes for each thread\n"
        "threads    {}\n",
        piece_, element_bytes(),
        options_.piece > 0
            ? "as requested"
            : fmt::format("by caches of {} KiB and {} KiB", caches().l1 / 1024, caches().l2 / 1024),
        rooms_.back(), threads_);
  for (std::size_t i = 0; i < passes_.size(); ++i)
    text += fmt::format("pass {:<6}{} by {}, {} of an element\n", i, to_string(passes_[i].plan->problem),
                        passes_[i].plan->candidate, counted(passes_[i].problems, "problem"));
  return text;
}

}  // namespace tilewright
