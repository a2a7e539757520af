#include "intercept/hsa_api.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace kerncap::intercept {
namespace {

template <class Table>
void copy_table(Table& to, const Table& from) {
  const auto size = std::min<std::size_t>(sizeof(Table), from.version.minor_id);
  std::memcpy(static_cast<void*>(&to), &from, size);
}

}  // namespace

HsaApi& hsa() {
  // Never destroyed: threads of the runtime call hooks while static objects are being torn down.
  static HsaApi* const api = new HsaApi;
  return *api;
}

void save_originals(const HsaApiTable& table) {
  auto& api = hsa();
  api.table_major = table.version.major_id;
  api.table_minor = table.version.minor_id;
  copy_table(api.core, *table.core_);
  copy_table(api.amd, *table.amd_ext_);
  api.amd_queue_create = newer::entry<newer::QueueCreate>(*table.amd_ext_, newer::kQueueCreate);
  api.amd_async_batch_copy = newer::entry<newer::AsyncBatchCopy>(*table.amd_ext_, newer::kAsyncBatchCopy);
  api.amd_counted_queue_acquire = newer::entry<newer::CountedQueueAcquire>(*table.amd_ext_, newer::kCountedQueueAcquire);
}

std::string status_text(hsa_status_t status) {
  const char* text = nullptr;
  if (hsa().core.hsa_status_string_fn == nullptr || hsa().core.hsa_status_string_fn(status, &text) != HSA_STATUS_SUCCESS ||
      text == nullptr) {
    return "HSA status " + std::to_string(static_cast<int>(status));
  }
  return text;
}

void check(hsa_status_t status, const char* what) {
  if (status != HSA_STATUS_SUCCESS && status != HSA_STATUS_INFO_BREAK) {
    const bool memory = status == HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    throw Error(memory ? "host.memory" : "capture.hsa", std::string(what) + ": " + status_text(status));
  }
}

}  // namespace kerncap::intercept
