// Streams, events and graphs of the fake driver. Queued work runs only when something waits for it, so that
// code that forgets to wait, on the host or between streams, reads data that are not there yet.
// TILEWRIGHT_FAKE_ORDER sets how much of other streams has run by then: "late" (the default), only the work
// that the awaited work waits for; "early", all that can; a number begins a sequence of draws between the
// two. After work that fails, no other work of that device runs, and every stream of it reports the failure
// once.
#include "fake_streams.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace fake = tilewright::fake_cuda;
using fake::count;
using fake::current;
using fake::machine;
using fake::QueuedWork;

namespace {

// A position in a stream, as recorded by an event.
struct Point {
  CUstream stream = nullptr;  // may be destroyed once this has passed
  bool passed = true;
  CUresult result = CUDA_SUCCESS;  // status of failed work before it
  double seconds = 0;
};
struct Queued {
  QueuedWork work;
  std::shared_ptr<Point> after;   // the work waits until this has passed
  std::shared_ptr<Point> passes;  // passes after the work
};

}  // namespace

struct CUstream_st {
  CUcontext context = nullptr;
  bool capturing = false;
  std::vector<QueuedWork> captured;
  std::deque<Queued> queued;
  CUresult failure = CUDA_SUCCESS;  // returned by the next call
};
struct CUevent_st {
  std::shared_ptr<Point> point = std::make_shared<Point>();
};
struct CUgraph_st {
  std::vector<QueuedWork> work;
};
struct CUgraphExec_st {
  std::vector<QueuedWork> work;
};

namespace {

// The streams in the order of their creation.
std::vector<CUstream>& streams() {
  static std::vector<CUstream> all;
  return all;
}

void pass(Point& point, CUresult result) {
  point.passed = true;
  point.result = result;
  point.seconds = fake::now_s();
}

void fail(CUcontext context, CUresult result) {
  for (CUstream stream : streams()) {
    if (stream->context != context) continue;
    stream->failure = result;
    for (const Queued& dropped : std::exchange(stream->queued, {}))
      if (dropped.passes) pass(*dropped.passes, result);
  }
}

bool can_run(const CUstream_st& stream) {
  return !stream.queued.empty() && (!stream.queued.front().after || stream.queued.front().after->passed);
}

// Runs the stream's next work, or that of a stream that it waits for.
void run_one(CUstream stream) {
  while (!can_run(*stream)) {
    if (stream->queued.empty()) return;
    stream = stream->queued.front().after->stream;
  }
  const Queued next = std::move(stream->queued.front());
  stream->queued.pop_front();
  if (next.work)
    if (const CUresult result = next.work(); result != CUDA_SUCCESS) fail(stream->context, result);
  if (next.passes) pass(*next.passes, stream->failure);
}

bool draws_others() {
  const char* order = std::getenv("TILEWRIGHT_FAKE_ORDER");
  if (order == nullptr || order == std::string_view("late")) return false;
  if (order == std::string_view("early")) return true;
  static unsigned long long drawn = std::strtoull(order, nullptr, 10);
  drawn = drawn * 6364136223846793005ULL + 1442695040888963407ULL;
  return drawn >> 63 != 0;
}

void run_others() {
  if (!draws_others()) return;
  for (bool some = true; some;) {
    some = false;
    for (CUstream stream : streams())
      for (; can_run(*stream); some = true) run_one(stream);
  }
}

void run_to(const Point& point) {
  run_others();
  while (!point.passed) run_one(point.stream);
}

CUresult told(CUstream stream) {
  return stream == nullptr ? CUDA_SUCCESS : std::exchange(stream->failure, CUDA_SUCCESS);
}

// Runs all of the stream's work, and of other streams only what that waits for.
CUresult run_all(CUstream stream) {
  while (!stream->queued.empty()) run_one(stream);
  return told(stream);
}

}  // namespace

namespace tilewright::fake_cuda {

CUresult queue(CUstream stream, QueuedWork work) {
  const std::lock_guard lock(machine().mutex);
  if (stream == nullptr) return work();
  if (stream->capturing) {
    stream->captured.push_back(std::move(work));
    return CUDA_SUCCESS;
  }
  stream->queued.push_back({std::move(work), nullptr, nullptr});
  return told(stream);
}

int device_of(CUstream stream) {
  if (stream != nullptr) return stream->context->device;
  return current.empty() ? -1 : current.back()->device;
}

bool is_capturing(CUstream stream) { return stream != nullptr && stream->capturing; }

CUresult finish(CUcontext context) {
  const std::lock_guard lock(machine().mutex);
  CUresult result = CUDA_SUCCESS;
  for (CUstream stream : streams()) {
    if (context != nullptr && stream->context != context) continue;
    while (!stream->queued.empty()) run_one(stream);
    if (result == CUDA_SUCCESS) result = stream->failure;
  }
  return result;
}

extern "C" int fake_cuda_queue(void* stream, const std::function<void()>& work) {
  return queue(static_cast<CUstream>(stream), [work] {
    work();
    return CUDA_SUCCESS;
  });
}

}  // namespace tilewright::fake_cuda

extern "C" {

CUresult cuCtxSynchronize() {
  const auto lock = count("synchronize");
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult result = fake::finish(current.back());
  for (CUstream stream : streams())
    if (stream->context == current.back()) told(stream);
  return result;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0, *greatest = -5;
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) {
  return cuStreamCreate(stream, flags);
}
CUresult cuStreamCreate(CUstream* stream, unsigned) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(machine().mutex);
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *stream = new CUstream_st{current.back(), false, {}, {}};
  streams().push_back(*stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  const std::lock_guard lock(machine().mutex);
  run_all(stream);
  std::erase(streams(), stream);
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  const auto lock = count("synchronize");
  if (stream == nullptr) return CUDA_SUCCESS;
  if (stream->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  run_others();
  return run_all(stream);
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  if (stream == nullptr || stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
  stream->capturing = true;
  stream->captured.clear();
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  if (!stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
  stream->capturing = false;
  *graph = new CUgraph_st{std::move(stream->captured)};
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *status = fake::is_capturing(stream) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
// A stream that is being captured may not wait for events outside the capture.
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (stream == nullptr && current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const auto lock = count("wait_event");
  if (fake::is_capturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  if (stream == nullptr)
    run_to(*event->point);
  else if (!event->point->passed)
    stream->queued.push_back({nullptr, event->point, nullptr});
  return told(stream);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->work};
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  for (const QueuedWork& work : exec->work)
    if (const CUresult result = fake::queue(stream, work); result != CUDA_SUCCESS) return result;
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete exec;
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (stream == nullptr && current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard lock(machine().mutex);
  event->point = std::make_shared<Point>();
  event->point->seconds = fake::now_s();
  if (stream == nullptr || stream->capturing) return CUDA_SUCCESS;
  event->point->stream = stream;
  event->point->passed = false;
  stream->queued.push_back({nullptr, nullptr, event->point});
  return told(stream);
}
CUresult cuEventSynchronize(CUevent event) {
  const auto lock = count("synchronize");
  const std::shared_ptr<Point> point = event->point;
  run_to(*point);
  return point->result;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(now, *mode);
  return CUDA_SUCCESS;
}
// Each query lets some work happen.
CUresult cuEventQuery(CUevent event) {
  const std::lock_guard lock(machine().mutex);
  const std::shared_ptr<Point> point = event->point;
  if (!point->passed) run_one(point->stream);
  return point->passed ? point->result : CUDA_ERROR_NOT_READY;
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  const std::lock_guard lock(machine().mutex);
  if (!start->point->passed || !end->point->passed) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(1e3 * (end->point->seconds - start->point->seconds));
  return CUDA_SUCCESS;
}

}  // extern "C"
