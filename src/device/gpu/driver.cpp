// Opens libcuda and looks up its functions by the names of their current versions. On a machine without a
// driver it throws an Error that says what was searched for.
#include "device/gpu/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/input/failure.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

template <class F>
void look_up(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr)
    throw Error(ErrorCode::unsupported, "driver",
                fmt::format("the GPU driver is too old: libcuda.so.1 has no {}", name));
}

void look_up_graphs(void* library, GpuDriver& driver) {
  look_up(library, "cuStreamIsCapturing", driver.stream_is_capturing);
  look_up(library, "cuStreamBeginCapture_v2", driver.stream_begin_capture);
  look_up(library, "cuStreamEndCapture", driver.stream_end_capture);
  look_up(library, "cuGraphInstantiateWithFlags", driver.graph_instantiate);
  look_up(library, "cuGraphLaunch", driver.graph_launch);
  look_up(library, "cuGraphDestroy", driver.graph_destroy);
  look_up(library, "cuGraphExecDestroy", driver.graph_exec_destroy);
}

void look_up_copies(void* library, GpuDriver& driver) {
  look_up(library, "cuMemcpyHtoD_v2", driver.copy_to_device);
  look_up(library, "cuMemcpyDtoH_v2", driver.copy_to_host);
  look_up(library, "cuMemcpyDtoD_v2", driver.copy_on_device);
  look_up(library, "cuMemcpyHtoDAsync_v2", driver.queue_to_device);
  look_up(library, "cuMemcpyDtoHAsync_v2", driver.queue_to_host);
  look_up(library, "cuMemcpy2DAsync_v2", driver.queue_block);
  look_up(library, "cuMemcpyPeerAsync", driver.queue_from_peer);
  look_up(library, "cuDeviceCanAccessPeer", driver.can_access_peer);
  look_up(library, "cuCtxEnablePeerAccess", driver.enable_peer_access);
  look_up(library, "cuMemHostRegister_v2", driver.host_register);
  look_up(library, "cuMemHostUnregister", driver.host_unregister);
  look_up(library, "cuPointerGetAttributes", driver.pointer_attributes);
}

// Looks up functions that older drivers lack.
void look_up_newer(void* library, GpuDriver& driver) {
  const auto find = [&]<class F>(const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name));
  };
  find("cuLaunchKernelEx", driver.launch_ex);
  find("cuTensorMapEncodeTiled", driver.tensor_map_encode);
#if CUDA_VERSION >= 12040
  find("cuDeviceGetDevResource", driver.device_resource);
  find("cuDevSmResourceSplitByCount", driver.split_multiprocessors);
  find("cuDevResourceGenerateDesc", driver.describe_resource);
  find("cuGreenCtxCreate", driver.partition_create);
  find("cuGreenCtxDestroy", driver.partition_destroy);
  find("cuGreenCtxStreamCreate", driver.partition_stream_create);
#endif
}

// True for errors after which, as the driver documents, the process is in an inconsistent state, so that
// every later call fails as well, and for errors that say that the device or its context is gone. Errors that
// older headers do not name are given by number.
bool is_lost(CUresult result) {
  switch (int(result)) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case 226:  // CUDA_ERROR_CONTAINED
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case 721:  // CUDA_ERROR_TENSOR_MEMORY_LEAK
    case CUDA_ERROR_MPS_RPC_FAILURE:
    case 810:  // CUDA_ERROR_MPS_CLIENT_TERMINATED
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

ErrorCode code_of(CUresult result) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return ErrorCode::out_of_memory;
  if (result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_NOT_SUPPORTED) return ErrorCode::unsupported;
  return is_lost(result) ? ErrorCode::device_lost : ErrorCode::internal;
}

}  // namespace

GpuDriver::GpuDriver() {
  // The library is never closed: other libraries of the process may hold the same driver.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(ErrorCode::unsupported, "driver",
                fmt::format("no GPU driver was found ({})", loader_error()));
  const auto find = [&](const char* name, auto& function) { look_up(library, name, function); };
  find("cuInit", init);
  find("cuDriverGetVersion", driver_version);
  find("cuGetErrorName", error_name);
  find("cuGetErrorString", error_text);
  find("cuDeviceGetCount", device_count);
  find("cuDeviceGet", device);
  find("cuDeviceGetName", device_name);
  find("cuDeviceGetUuid_v2", device_uuid);
  find("cuDeviceGetAttribute", device_attribute);
  find("cuDeviceTotalMem_v2", device_memory);
  find("cuDevicePrimaryCtxRetain", context_retain);
  find("cuDevicePrimaryCtxRelease_v2", context_release);
  find("cuCtxPushCurrent_v2", context_push);
  find("cuCtxPopCurrent_v2", context_pop);
  find("cuCtxGetCurrent", context_current);
  find("cuCtxSynchronize", context_synchronize);
  find("cuStreamCreate", stream_create);
  find("cuStreamCreateWithPriority", stream_create_with_priority);
  find("cuCtxGetStreamPriorityRange", stream_priorities);
  find("cuStreamDestroy_v2", stream_destroy);
  find("cuStreamSynchronize", stream_synchronize);
  find("cuStreamWaitEvent", stream_wait_event);
  look_up_graphs(library, *this);
  find("cuEventCreate", event_create);
  find("cuEventDestroy_v2", event_destroy);
  find("cuEventRecord", event_record);
  find("cuEventSynchronize", event_synchronize);
  find("cuEventQuery", event_query);
  find("cuEventElapsedTime", event_elapsed);
  find("cuMemAlloc_v2", memory_allocate);
  find("cuMemFree_v2", memory_free);
  find("cuMemGetInfo_v2", memory_info);
  find("cuMemAllocAsync", memory_allocate_async);
  find("cuMemFreeAsync", memory_free_async);
  find("cuMemHostAlloc", host_allocate);
  find("cuMemFreeHost", host_free);
  look_up_copies(library, *this);
  find("cuMemsetD8Async", fill_bytes);
  find("cuMemsetD2D32Async", fill_words);
  find("cuModuleLoadData", module_load);
  find("cuModuleUnload", module_unload);
  find("cuModuleGetFunction", module_function);
  find("cuFuncGetAttribute", function_attribute);
  find("cuFuncSetAttribute", function_set_attribute);
  find("cuOccupancyMaxActiveBlocksPerMultiprocessor", occupancy);
  find("cuLaunchKernel", launch);
  find("cuPointerGetAttribute", pointer_attribute);
  look_up_newer(library, *this);
}

std::shared_ptr<const GpuDriver> GpuDriver::open() {
  // There is one per process because the driver is one per process; a failure is not kept, so the next call
  // tries again.
  static constinit Once<const std::shared_ptr<const GpuDriver>> once;
  const std::shared_ptr<const GpuDriver>& driver = once.get([] {
    std::shared_ptr<const GpuDriver> opened(new GpuDriver());
    opened->check(opened->init(0), "cuInit");
    return opened;
  });
  if (driver->was_lost())
    throw Error(ErrorCode::unsupported, "driver",
                "the GPU driver was opened before fork, and no driver serves a child of that process");
  return driver;
}

void GpuDriver::check(CUresult result, const char* call, const std::string& argument) const {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* text = nullptr;
  error_name(result, &name);
  error_text(result, &text);
  throw Error(code_of(result), "gpu",
              fmt::format("{}({}) failed: {} ({})", call, argument, name == nullptr ? "unknown error" : name,
                          text == nullptr ? "no text" : text));
}

}  // namespace tilewright
