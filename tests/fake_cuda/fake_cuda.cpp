// A libcuda.so.1 for machines without a GPU: three devices whose memory is host memory and whose kernels are
// plain loops. It takes the place of the driver through LD_LIBRARY_PATH, so that the product is tested as it
// is. Beside computing it watches: memory that is not the device's, launches beyond its limits, calls that
// wait while a stream is captured. After TILEWRIGHT_FAKE_LOST_AFTER copies, where that is set, its devices
// are lost. No allocation of more than TILEWRIGHT_FAKE_MOST_BYTES succeeds. What it cannot show is anything
// about the kernels themselves.
#include "fake_cuda.hpp"

#include <cuda.h>
// The name under which every driver has it.
#undef cuEventElapsedTime

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fake_devices.hpp"
#include "fake_kernels.hpp"

namespace fake = tilewright::fake_cuda;
using fake::attribute_of;
using fake::Device;
using fake::device_count;
using fake::devices;

struct CUctx_st {
  int device = 0;
  int retained = 0;
  std::set<int> peers{};  // devices whose memory it reaches
};
struct CUstream_st {
  CUcontext context = nullptr;
  bool capturing = false;
  std::vector<std::function<CUresult()>> captured;
};
struct CUevent_st {
  double seconds = 0;
};
struct CUfunc_st {
  std::string expression;
  int device = 0;
  unsigned most_shared_bytes = 48 << 10;  // of a launch, until the attribute allows more
};
struct CUmod_st {
  std::string image;
  int device = 0;
  std::deque<CUfunc_st> functions;
};
struct CUgraph_st {
  std::vector<std::function<CUresult()>> work;
};
struct CUgraphExec_st {
  std::vector<std::function<CUresult()>> work;
};

namespace {

struct Machine {
  std::mutex mutex;
  CUctx_st contexts[device_count] = {{0}, {1}, {2}};
  std::map<std::string, long long> counts;
  std::vector<fake::Launch> launches;
  fake::Memory memory;
  std::map<const char*, std::size_t> pinned;  // memory of the host: allocated as such, or registered
};
Machine& machine() {
  static Machine one;
  return one;
}
thread_local std::vector<CUcontext> current;

std::lock_guard<std::mutex> count(const char* name) {
  machine().mutex.lock();
  ++machine().counts[name];
  return {machine().mutex, std::adopt_lock};
}

// Now, or whenever the graph that is being captured is launched.
CUresult queue(CUstream stream, std::function<CUresult()> work) {
  if (stream == nullptr || !stream->capturing) return work();
  stream->captured.push_back(std::move(work));
  return CUDA_SUCCESS;
}

// Whether so many copies have been made that the devices are lost by now.
CUresult copy_allowed() {
  const char* most = std::getenv("TILEWRIGHT_FAKE_LOST_AFTER");
  if (most == nullptr || machine().counts["copy"] <= std::atoll(most)) return CUDA_SUCCESS;
  return CUDA_ERROR_LAUNCH_FAILED;
}

constexpr std::size_t memory_bytes = std::size_t(140) << 30;  // of each device

bool valid(CUdevice device) { return device >= 0 && device < device_count; }

}  // namespace

namespace tilewright::fake_cuda {
extern "C" long long fake_cuda_count(const char* name) {
  const std::lock_guard lock(machine().mutex);
  return machine().counts[name];
}
extern "C" std::size_t fake_cuda_launches(Launch* to, std::size_t most) {
  const std::lock_guard lock(machine().mutex);
  const auto& all = machine().launches;
  for (std::size_t i = 0; i < all.size() && i < most; ++i) to[i] = all[all.size() - 1 - i];
  return all.size();
}
extern "C" int fake_cuda_retained(int device) { return machine().contexts[device].retained; }
}  // namespace tilewright::fake_cuda

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "a kernel left its memory" : "the fake driver refuses this";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* number) {
  *number = device_count;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return valid(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  std::strncpy(name, devices[device].name, static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  std::memset(uuid, 17 + device, sizeof *uuid);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  *value = attribute_of(devices[device], which);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) { return *bytes = memory_bytes, CUDA_SUCCESS; }

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const auto lock = count("retain");
  *context = &machine().contexts[device];
  ++(*context)->retained;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  const auto lock = count("release");
  --machine().contexts[device].retained;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  const auto lock = count("push");
  current.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  const auto lock = count("pop");
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = current.back();
  current.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current.empty() ? nullptr : current.back();
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  const auto lock = count("synchronize");
  return current.empty() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *stream = new CUstream_st{current.back(), false, {}};
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  const auto lock = count("synchronize");
  return stream != nullptr && stream->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
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
  const bool capturing = stream != nullptr && stream->capturing;
  *status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
// Everything has happened when its call returns, so there is nothing to wait for; but a stream that is being
// captured may not wait for what lies outside.
CUresult cuStreamWaitEvent(CUstream stream, CUevent, unsigned) {
  const auto lock = count("wait_event");
  return stream != nullptr && stream->capturing ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->work};
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream) {
  for (const auto& work : exec->work)
    if (const CUresult result = work(); result != CUDA_SUCCESS) return result;
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
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream) {
  event->seconds = fake::now_s();
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) {
  const auto lock = count("synchronize");
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  *milliseconds = static_cast<float>(1e3 * (end->seconds - start->seconds));
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  const auto lock = count("allocate");
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const char* most = std::getenv("TILEWRIGHT_FAKE_MOST_BYTES");
  if (most != nullptr && bytes > std::strtoull(most, nullptr, 10)) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = machine().memory.add(bytes, current.back()->device);
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  const auto lock = count("free");
  return machine().memory.remove(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* all) {
  return *free = *all = memory_bytes, CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** data, std::size_t bytes, unsigned) {
  const auto lock = count("allocate");
  *data = ::operator new(bytes);
  machine().pinned[static_cast<char*>(*data)] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* data) {
  const auto lock = count("free_host");
  machine().pinned.erase(static_cast<char*>(data));
  ::operator delete(data);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  const auto lock = count("copy");
  if (const CUresult lost = copy_allowed(); lost != CUDA_SUCCESS) return lost;
  if (!machine().memory.holds(to, bytes, current.back()->device)) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  const auto lock = count("copy");
  if (const CUresult lost = copy_allowed(); lost != CUDA_SUCCESS) return lost;
  if (!machine().memory.holds(from, bytes, current.back()->device)) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  const auto lock = count("copy");
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  *can = valid(device) && valid(peer) && device != peer;
  return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  const auto lock = count("peer");
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  return current.back()->peers.insert(peer->device).second ? CUDA_SUCCESS
                                                           : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
// Pages are registered once at a time, as the driver wants it.
CUresult cuMemHostRegister_v2(void* data, std::size_t bytes, unsigned) {
  const auto lock = count("register");
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return machine().pinned.emplace(static_cast<char*>(data), bytes).second
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}
CUresult cuMemHostUnregister(void* data) {
  const auto lock = count("unregister");
  return machine().pinned.erase(static_cast<char*>(data)) == 1 ? CUDA_SUCCESS
                                                               : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}
// Copies that a graph holds are checked when it is launched.
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return queue(stream, [=] { return cuMemcpyHtoD_v2(to, from, bytes); });
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return queue(stream, [=] { return cuMemcpyDtoH_v2(to, from, bytes); });
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* asked, CUstream stream) {
  return queue(stream, [copy = *asked] {
    const auto lock = count("copy");
    if (const CUresult lost = copy_allowed(); lost != CUDA_SUCCESS) return lost;
    const bool in = copy.dstMemoryType != CU_MEMORYTYPE_HOST;
    const bool from_device = copy.srcMemoryType != CU_MEMORYTYPE_HOST;
    const std::size_t pitch = in ? copy.dstPitch : copy.srcPitch;
    if (copy.Height == 0 || copy.WidthInBytes == 0) return CUDA_SUCCESS;
    if (copy.dstPitch < copy.WidthInBytes || copy.srcPitch < copy.WidthInBytes)
      return CUDA_ERROR_INVALID_VALUE;
    if (!machine().memory.holds(in ? copy.dstDevice : copy.srcDevice,
                                pitch * (copy.Height - 1) + copy.WidthInBytes, current.back()->device))
      return CUDA_ERROR_INVALID_VALUE;
    auto* to = in ? reinterpret_cast<char*>(copy.dstDevice) : static_cast<char*>(copy.dstHost);
    const auto* from =
        from_device ? reinterpret_cast<const char*>(copy.srcDevice) : static_cast<const char*>(copy.srcHost);
    for (std::size_t i = 0; i < copy.Height; ++i)
      std::memcpy(to + i * copy.dstPitch, from + i * copy.srcPitch, copy.WidthInBytes);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext context, CUdeviceptr from, CUcontext other,
                           std::size_t bytes, CUstream stream) {
  return queue(stream, [=] {
    const auto lock = count("copy");
    if (!machine().memory.holds(to, bytes, context->device) ||
        !machine().memory.holds(from, bytes, other->device))
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  return queue(stream, [=] {
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                            std::size_t height, CUstream stream) {
  return queue(stream, [=] {
    for (std::size_t row = 0; row < height; ++row)
      for (std::size_t i = 0; i < width; ++i)
        std::memcpy(reinterpret_cast<char*>(to) + row * pitch + i * sizeof value, &value, sizeof value);
    return CUDA_SUCCESS;
  });
}
// What a graph allocates lives as long as the graph, for its replays.
CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  const auto lock = count("allocate_async");
  *address = machine().memory.add(bytes, stream->context->device);
  if (!stream->capturing) return CUDA_SUCCESS;
  const std::shared_ptr<void> owner(nullptr, [memory = *address](void*) {
    const std::lock_guard guard(machine().mutex);
    machine().memory.remove(memory);
  });
  stream->captured.push_back([owner] { return CUDA_SUCCESS; });
  return CUDA_SUCCESS;
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  const auto lock = count("free_async");
  if (stream->capturing) return CUDA_SUCCESS;
  return machine().memory.remove(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr address) {
  const std::lock_guard lock(machine().mutex);
  const int owner = machine().memory.owner(address);
  if (which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
    const auto* const byte = reinterpret_cast<const char*>(address);
    auto after = machine().pinned.upper_bound(byte);
    const bool pinned = after != machine().pinned.begin() && byte < (--after)->first + after->second;
    if (owner < 0 && !pinned) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<CUmemorytype*>(value) = pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
  }
  if (which != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL || owner < 0) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(value) = owner;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const auto lock = count("load");
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const std::string text(static_cast<const char*>(image));
  if (!text.starts_with(fake::image_mark)) return CUDA_ERROR_INVALID_IMAGE;
  *module = new CUmod_st{text, current.back()->device, {}};
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  const auto lock = count("unload");
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (module->image.find(name) == std::string::npos) return CUDA_ERROR_NOT_FOUND;
  *function = &module->functions.emplace_back(CUfunc_st{name, module->device});
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction) {
  *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS ? 64 : 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  if (value > devices[function->device].shared_per_block) return CUDA_ERROR_INVALID_VALUE;
  if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    function->most_shared_bytes = std::max(function->most_shared_bytes, static_cast<unsigned>(value));
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, std::size_t) {
  *blocks = 2048 / threads;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void**) {
  unsigned cluster = 1;
  bool dependent = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) cluster = attribute.value.clusterDim.x;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      dependent = attribute.value.programmaticStreamSerializationAllowed != 0;
  }
  const auto lock = count("launch");
  const CUstream stream = config->hStream;
  if (current.empty() || current.back()->device != function->device) return CUDA_ERROR_INVALID_CONTEXT;
  if (stream != nullptr && stream->context->device != function->device) return CUDA_ERROR_INVALID_HANDLE;
  const Device& device = devices[function->device];
  const unsigned blocks = config->gridDimX, threads = config->blockDimX;
  if (blocks == 0 || threads == 0 || threads > 1024 || int(config->sharedMemBytes) > device.shared_per_block)
    return CUDA_ERROR_INVALID_VALUE;
  if (blocks % cluster != 0 || cluster != fake::cluster_of(function->expression))
    return CUDA_ERROR_INVALID_VALUE;
  if (config->sharedMemBytes > function->most_shared_bytes) return CUDA_ERROR_INVALID_VALUE;
  // A kernel that does not wait by itself must not begin early.
  if (dependent && !fake::waits_for_launch_before(function->expression)) return CUDA_ERROR_INVALID_VALUE;
  machine().launches.push_back({stream, blocks, threads, config->sharedMemBytes});
  auto work = fake::make_kernel(function->expression, parameters[0]);
  const auto run = [work, owner = function->device] {
    return work(machine().memory, owner) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
  };
  return queue(stream, run);
}
CUresult cuLaunchKernel(CUfunction function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                        unsigned, unsigned shared_bytes, CUstream stream, void** parameters, void** extra) {
  CUlaunchConfig config{};
  config.gridDimX = blocks, config.blockDimX = threads;
  config.sharedMemBytes = shared_bytes;
  config.hStream = stream;
  return cuLaunchKernelEx(&config, function, parameters, extra);
}

// The matrices lie where the kernel finds them by their addresses.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void* address,
                                const cuuint64_t*, const cuuint64_t* strides, const cuuint32_t*,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  std::memset(map, 0, sizeof *map);
  const bool aligned = reinterpret_cast<std::uintptr_t>(address) % 16 == 0 && strides[0] % 16 == 0;
  return aligned ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // extern "C"
