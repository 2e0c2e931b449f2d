// A libcuda.so.1 for machines without a GPU: three devices whose memory is host memory and whose kernels are
// plain loops. It replaces the driver through LD_LIBRARY_PATH, so that the unchanged product is tested. It
// computes and also detects errors: memory that is not the device's, launches beyond its limits, calls that
// wait while a stream is captured. It cannot test the kernels themselves. It fails on demand. Variables of
// the environment, whose names begin with TILEWRIGHT_FAKE_, control this:
// - LOST_AFTER: copies after which its devices are lost;
// - FAILING_COPY: which queued copy is refused, and COPY_ERROR with which code;
// - MOST_BYTES, MOST_PINNED_BYTES: of one allocation on the device, and of pinned memory;
// - MEMORY: bytes that each device has.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <limits>
#include <memory>
#include <string>

#include "counts.hpp"
#include "fake_streams.hpp"

namespace fake = tilewright::fake_cuda;
using fake::attribute_of;
using fake::count;
using fake::current;
using fake::Device;
using fake::device_count;
using fake::devices;
using fake::machine;
using fake::queue;

struct CUfunc_st {
  std::string expression;
  int device = 0;
  unsigned most_shared_bytes = 48 << 10;  // default limit of a launch, until the attribute allows more
};
struct CUmod_st {
  std::string image;
  int device = 0;
  std::deque<CUfunc_st> functions;
};

namespace {

long long variable(const char* name, long long fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoll(text);
}

// Reports an error if so many copies were made that the devices are lost by now.
CUresult copy_allowed() {
  const long long most = variable("TILEWRIGHT_FAKE_LOST_AFTER", -1);
  if (most < 0 || machine().counts["copy"] <= most) return CUDA_SUCCESS;
  return CUDA_ERROR_LAUNCH_FAILED;
}

// Returns the driver's status for the copy that is being queued.
CUresult copy_refused() {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto lock = count("queued_copy");
  if (machine().counts["queued_copy"] != variable("TILEWRIGHT_FAKE_FAILING_COPY", 0)) return CUDA_SUCCESS;
  return CUresult(variable("TILEWRIGHT_FAKE_COPY_ERROR", CUDA_ERROR_INVALID_VALUE));
}

std::size_t memory_bytes() { return std::size_t(variable("TILEWRIGHT_FAKE_MEMORY", 140LL << 30)); }

bool valid(CUdevice device) { return device >= 0 && device < device_count; }

CUresult copy_in(CUdeviceptr to, const void* from, std::size_t bytes, int device) {
  const auto lock = count("copy");
  if (const CUresult lost = copy_allowed(); lost != CUDA_SUCCESS) return lost;
  if (!machine().memory.holds(to, bytes, device)) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult copy_out(void* to, CUdeviceptr from, std::size_t bytes, int device) {
  const auto lock = count("copy");
  if (const CUresult lost = copy_allowed(); lost != CUDA_SUCCESS) return lost;
  if (!machine().memory.holds(from, bytes, device)) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult copy_block(const CUDA_MEMCPY2D& copy, int device) {
  const auto lock = count("copy");
  if (const CUresult lost = copy_allowed(); lost != CUDA_SUCCESS) return lost;
  const std::size_t most = std::numeric_limits<std::int32_t>::max();  // CU_DEVICE_ATTRIBUTE_MAX_PITCH
  if (copy.srcPitch > most || copy.dstPitch > most ||
      copy.WidthInBytes > std::min(copy.srcPitch, copy.dstPitch))
    return CUDA_ERROR_INVALID_VALUE;
  const bool in = copy.dstMemoryType != CU_MEMORYTYPE_HOST;
  const bool from_device = copy.srcMemoryType != CU_MEMORYTYPE_HOST;
  const std::size_t pitch = in ? copy.dstPitch : copy.srcPitch;
  if (!machine().memory.holds(in ? copy.dstDevice : copy.srcDevice,
                              pitch * (copy.Height - 1) + copy.WidthInBytes, device))
    return CUDA_ERROR_INVALID_VALUE;
  auto* to = in ? reinterpret_cast<char*>(copy.dstDevice) : static_cast<char*>(copy.dstHost);
  const auto* from =
      from_device ? reinterpret_cast<const char*>(copy.srcDevice) : static_cast<const char*>(copy.srcHost);
  for (std::size_t i = 0; i < copy.Height; ++i)
    std::memcpy(to + i * copy.dstPitch, from + i * copy.srcPitch, copy.WidthInBytes);
  return CUDA_SUCCESS;
}

// Returns the host memory that holds the byte, or the end if there is none.
auto pinned_at(CUdeviceptr address) {
  const auto& pinned = machine().pinned;
  const auto* const byte = reinterpret_cast<const char*>(address);
  auto after = pinned.upper_bound(byte);
  return after != pinned.begin() && byte < std::prev(after)->first + std::prev(after)->second
             ? std::prev(after)
             : pinned.end();
}

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
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) { return *bytes = memory_bytes(), CUDA_SUCCESS; }

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
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
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
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
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto lock = count("allocate");
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const int device = current.back()->device;
  if (bytes > std::size_t(variable("TILEWRIGHT_FAKE_MOST_BYTES", 1LL << 60)) ||
      machine().memory.bytes(device) + bytes > memory_bytes())
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = machine().memory.add(bytes, device);
  return CUDA_SUCCESS;
}
// Freeing waits for all work of the device.
CUresult cuMemFree_v2(CUdeviceptr address) {
  const auto lock = count("free");
  const int owner = machine().memory.owner(address);
  if (owner >= 0) fake::finish(&machine().contexts[owner]);
  return machine().memory.remove(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* all) {
  const std::lock_guard lock(machine().mutex);
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *all = memory_bytes();
  *free = *all - std::min(*all, machine().memory.bytes(current.back()->device));
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** data, std::size_t bytes, unsigned) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto lock = count("allocate");
  if (bytes > std::size_t(variable("TILEWRIGHT_FAKE_MOST_PINNED_BYTES", 1LL << 40)))
    return CUDA_ERROR_OUT_OF_MEMORY;
  *data = ::operator new(bytes, std::nothrow);
  if (*data == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  machine().pinned[static_cast<char*>(*data)] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* data) {
  const auto lock = count("free_host");
  fake::finish(nullptr);
  machine().pinned.erase(static_cast<char*>(data));
  ::operator delete(data);
  return CUDA_SUCCESS;
}
// Synchronous copies use the default stream, and wait for no other.
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  return copy_in(to, from, bytes, current.back()->device);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  return copy_out(to, from, bytes, current.back()->device);
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
// Pages may be registered only once at a time, as in the driver.
CUresult cuMemHostRegister_v2(void* data, std::size_t bytes, unsigned) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
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
// Addresses are checked when a copy is made.
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  if (const CUresult refused = copy_refused(); refused != CUDA_SUCCESS) return refused;
  return queue(stream, [=, device = fake::device_of(stream)] { return copy_in(to, from, bytes, device); });
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (const CUresult refused = copy_refused(); refused != CUDA_SUCCESS) return refused;
  return queue(stream, [=, device = fake::device_of(stream)] { return copy_out(to, from, bytes, device); });
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* asked, CUstream stream) {
  if (const CUresult refused = copy_refused(); refused != CUDA_SUCCESS) return refused;
  if (asked->Height == 0 || asked->WidthInBytes == 0) return CUDA_SUCCESS;
  if (asked->dstPitch < asked->WidthInBytes || asked->srcPitch < asked->WidthInBytes)
    return CUDA_ERROR_INVALID_VALUE;
  return queue(stream,
               [copy = *asked, device = fake::device_of(stream)] { return copy_block(copy, device); });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext context, CUdeviceptr from, CUcontext other,
                           std::size_t bytes, CUstream stream) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
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
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  return queue(stream, [=] {
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                            std::size_t height, CUstream stream) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  return queue(stream, [=] {
    for (std::size_t row = 0; row < height; ++row)
      for (std::size_t i = 0; i < width; ++i)
        std::memcpy(reinterpret_cast<char*>(to) + row * pitch + i * sizeof value, &value, sizeof value);
    return CUDA_SUCCESS;
  });
}
// Memory that a graph allocates lives as long as the graph, for its replays.
CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto lock = count("allocate_async");
  *address = machine().memory.add(bytes, fake::device_of(stream));
  if (!fake::is_capturing(stream)) return CUDA_SUCCESS;
  const std::shared_ptr<void> owner(nullptr, [memory = *address](void*) {
    const std::lock_guard guard(machine().mutex);
    machine().memory.remove(memory);
  });
  return queue(stream, [owner] { return CUDA_SUCCESS; });
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  const auto lock = count("free_async");
  if (fake::is_capturing(stream)) return CUDA_SUCCESS;
  return queue(stream, [address] {
    return machine().memory.remove(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr address) {
  const std::lock_guard lock(machine().mutex);
  const int owner = machine().memory.owner(address);
  const auto pinned = pinned_at(address);
  const bool is_pinned = pinned != machine().pinned.end();
  if (owner < 0 && !is_pinned) return CUDA_ERROR_INVALID_VALUE;
  if (which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *static_cast<CUmemorytype*>(value) = is_pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  else if (which == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL && !is_pinned)
    *static_cast<int*>(value) = owner;
  else if (which == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR && is_pinned)
    *static_cast<CUdeviceptr*>(value) = reinterpret_cast<CUdeviceptr>(pinned->first);
  else if (which == CU_POINTER_ATTRIBUTE_RANGE_SIZE && is_pinned)
    *static_cast<std::size_t*>(value) = pinned->second;
  else
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}
// Returns zeros for unknown addresses.
CUresult cuPointerGetAttributes(unsigned number, CUpointer_attribute* which, void** values,
                                CUdeviceptr address) {
  const auto lock = count("attributes");
  for (unsigned i = 0; i < number; ++i) {
    const bool is_word = which[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    std::memset(values[i], 0, is_word ? sizeof(CUmemorytype) : sizeof(CUdeviceptr));
    (void)cuPointerGetAttribute(values[i], which[i], address);
  }
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
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
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
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
  if (fake::is_refused()) return CUDA_ERROR_OUT_OF_MEMORY;
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
  if (fake::device_of(stream) != function->device) return CUDA_ERROR_INVALID_HANDLE;
  const Device& device = devices[function->device];
  const unsigned blocks = config->gridDimX, threads = config->blockDimX;
  if (blocks == 0 || threads == 0 || threads > 1024 || int(config->sharedMemBytes) > device.shared_per_block)
    return CUDA_ERROR_INVALID_VALUE;
  if (blocks % cluster != 0 || cluster != fake::cluster_of(function->expression))
    return CUDA_ERROR_INVALID_VALUE;
  if (config->sharedMemBytes > function->most_shared_bytes) return CUDA_ERROR_INVALID_VALUE;
  // A kernel that does not wait for its predecessor by itself must not begin early.
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

// The map holds the address of the matrix for the kernel.
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
