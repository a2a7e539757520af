// Entries that replace the runtime's. Each install_* puts its hooks into the tables where the runtime has the entry.
#pragma once

struct HsaApiTable;

namespace kerncap::intercept {

void install_memory_hooks(HsaApiTable& table);
void install_code_hooks(HsaApiTable& table);
void install_queue_hooks(HsaApiTable& table);
void install_copy_hooks(HsaApiTable& table);

}  // namespace kerncap::intercept
