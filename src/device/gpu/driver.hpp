// The functions of the CUDA driver. Includes the vendor's header, hence only for files of src/device.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "core/host/fork_gate.hpp"
#include "device/loaded_function.hpp"

namespace tilewright {

class GpuDriver {
  void* library_ = open_library();  // before the functions, which are found in it

 public:
  // Returns the process's driver, opened once. Throws Error(unsupported) with the reason if there is none.
  static std::shared_ptr<const GpuDriver> open();

  // True if the process forked after opening the driver: then no call works here.
  bool was_lost() const { return generation_ != fork_gate::generation(); }

  // Throws Error naming the call, its argument and the driver's message: out_of_memory, unsupported,
  // device_lost if the process can no longer use the device or its context, else internal.
  void check(CUresult result, const char* call, const std::string& argument = {}) const;

  // Functions that older drivers lack are null.
  decltype(&cuInit) init = find("cuInit");
  decltype(&cuDriverGetVersion) driver_version = find("cuDriverGetVersion");
  decltype(&cuGetErrorName) error_name = find("cuGetErrorName");
  decltype(&cuGetErrorString) error_text = find("cuGetErrorString");
  decltype(&cuDeviceGetCount) device_count = find("cuDeviceGetCount");
  decltype(&cuDeviceGet) device = find("cuDeviceGet");
  decltype(&cuDeviceGetName) device_name = find("cuDeviceGetName");
  decltype(&cuDeviceGetUuid) device_uuid = find("cuDeviceGetUuid_v2");
  decltype(&cuDeviceGetAttribute) device_attribute = find("cuDeviceGetAttribute");
  decltype(&cuDeviceTotalMem) device_memory = find("cuDeviceTotalMem_v2");
  decltype(&cuDevicePrimaryCtxRetain) context_retain = find("cuDevicePrimaryCtxRetain");
  decltype(&cuDevicePrimaryCtxRelease) context_release = find("cuDevicePrimaryCtxRelease_v2");
  decltype(&cuCtxPushCurrent) context_push = find("cuCtxPushCurrent_v2");
  decltype(&cuCtxPopCurrent) context_pop = find("cuCtxPopCurrent_v2");
  decltype(&cuCtxGetCurrent) context_current = find("cuCtxGetCurrent");
  decltype(&cuCtxSynchronize) context_synchronize = find("cuCtxSynchronize");
  decltype(&cuStreamCreate) stream_create = find("cuStreamCreate");
  decltype(&cuStreamCreateWithPriority) stream_create_with_priority = find("cuStreamCreateWithPriority");
  decltype(&cuCtxGetStreamPriorityRange) stream_priorities = find("cuCtxGetStreamPriorityRange");
  decltype(&cuStreamDestroy) stream_destroy = find("cuStreamDestroy_v2");
  decltype(&cuStreamSynchronize) stream_synchronize = find("cuStreamSynchronize");
  decltype(&cuStreamWaitEvent) stream_wait_event = find("cuStreamWaitEvent");
  decltype(&cuStreamIsCapturing) stream_is_capturing = find("cuStreamIsCapturing");
  decltype(&cuThreadExchangeStreamCaptureMode) exchange_capture_mode =
      find("cuThreadExchangeStreamCaptureMode");
  decltype(&cuStreamBeginCapture) stream_begin_capture = find("cuStreamBeginCapture_v2");
  decltype(&cuStreamEndCapture) stream_end_capture = find("cuStreamEndCapture");
  decltype(&cuGraphInstantiateWithFlags) graph_instantiate = find("cuGraphInstantiateWithFlags");
  decltype(&cuGraphLaunch) graph_launch = find("cuGraphLaunch");
  decltype(&cuGraphDestroy) graph_destroy = find("cuGraphDestroy");
  decltype(&cuGraphExecDestroy) graph_exec_destroy = find("cuGraphExecDestroy");
  decltype(&cuEventCreate) event_create = find("cuEventCreate");
  decltype(&cuEventDestroy) event_destroy = find("cuEventDestroy_v2");
  decltype(&cuEventRecord) event_record = find("cuEventRecord");
  decltype(&cuEventSynchronize) event_synchronize = find("cuEventSynchronize");
  decltype(&cuEventQuery) event_query = find("cuEventQuery");
  decltype(&cuEventElapsedTime) event_elapsed = find("cuEventElapsedTime");
  decltype(&cuMemAlloc) memory_allocate = find("cuMemAlloc_v2");
  decltype(&cuMemFree) memory_free = find("cuMemFree_v2");
  decltype(&cuMemGetInfo) memory_info = find("cuMemGetInfo_v2");
  decltype(&cuMemAllocAsync) memory_allocate_async = find("cuMemAllocAsync");
  decltype(&cuMemFreeAsync) memory_free_async = find("cuMemFreeAsync");
  decltype(&cuMemHostAlloc) host_allocate = find("cuMemHostAlloc");
  decltype(&cuMemFreeHost) host_free = find("cuMemFreeHost");
  decltype(&cuMemHostRegister) host_register = find("cuMemHostRegister_v2");
  decltype(&cuMemHostUnregister) host_unregister = find("cuMemHostUnregister");
  decltype(&cuMemcpyHtoD) copy_to_device = find("cuMemcpyHtoD_v2");
  decltype(&cuMemcpyDtoH) copy_to_host = find("cuMemcpyDtoH_v2");
  decltype(&cuMemcpyDtoD) copy_on_device = find("cuMemcpyDtoD_v2");
  decltype(&cuMemcpyHtoDAsync) queue_to_device = find("cuMemcpyHtoDAsync_v2");
  decltype(&cuMemcpyDtoHAsync) queue_to_host = find("cuMemcpyDtoHAsync_v2");
  decltype(&cuMemcpy2DAsync) queue_block = find("cuMemcpy2DAsync_v2");
  decltype(&cuMemcpyPeerAsync) queue_from_peer = find("cuMemcpyPeerAsync");
  decltype(&cuDeviceCanAccessPeer) can_access_peer = find("cuDeviceCanAccessPeer");
  decltype(&cuCtxEnablePeerAccess) enable_peer_access = find("cuCtxEnablePeerAccess");
  decltype(&cuMemsetD8Async) fill_bytes = find("cuMemsetD8Async");
  decltype(&cuMemsetD2D32Async) fill_words = find("cuMemsetD2D32Async");
  decltype(&cuModuleLoadData) module_load = find("cuModuleLoadData");
  decltype(&cuModuleUnload) module_unload = find("cuModuleUnload");
  decltype(&cuModuleGetFunction) module_function = find("cuModuleGetFunction");
  decltype(&cuFuncGetAttribute) function_attribute = find("cuFuncGetAttribute");
  decltype(&cuFuncSetAttribute) function_set_attribute = find("cuFuncSetAttribute");
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy =
      find("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  decltype(&cuLaunchKernel) launch = find("cuLaunchKernel");
  decltype(&cuLaunchKernelEx) launch_ex = find_newer("cuLaunchKernelEx");  // absent before CUDA 11.8
  decltype(&cuPointerGetAttribute) pointer_attribute = find("cuPointerGetAttribute");
  decltype(&cuPointerGetAttributes) pointer_attributes = find("cuPointerGetAttributes");
  decltype(&cuTensorMapEncodeTiled) tensor_map_encode =
      find_newer("cuTensorMapEncodeTiled");  // absent before CUDA 12
#if CUDA_VERSION >= 12040
  // Older headers lack these as well.
  decltype(&cuDeviceGetDevResource) device_resource = find_newer("cuDeviceGetDevResource");
  decltype(&cuDevSmResourceSplitByCount) split_multiprocessors = find_newer("cuDevSmResourceSplitByCount");
  decltype(&cuDevResourceGenerateDesc) describe_resource = find_newer("cuDevResourceGenerateDesc");
  decltype(&cuGreenCtxCreate) partition_create = find_newer("cuGreenCtxCreate");
  decltype(&cuGreenCtxDestroy) partition_destroy = find_newer("cuGreenCtxDestroy");
  decltype(&cuGreenCtxStreamCreate) partition_stream_create = find_newer("cuGreenCtxStreamCreate");
#endif

 private:
  GpuDriver() = default;
  static void* open_library();
  LoadedFunction find(const char* name) const;
  LoadedFunction find_newer(const char* name) const { return {library_, name}; }

  int generation_ = fork_gate::generation();
};

}  // namespace tilewright
