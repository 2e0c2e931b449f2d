// A profiler for machines without a GPU: NVTX loads it if NVTX_INJECTION64_PATH names it, and its ranges are
// lines of stderr.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>

namespace {

int depth = 0;

int NVTX_API push(const char* text) {
  std::fprintf(stderr, "begin %s\n", text);
  return depth++;
}
int NVTX_API pop() {
  std::fprintf(stderr, "end\n");
  return --depth;
}

}  // namespace

extern "C" int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table_of) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE_RangePop)
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
