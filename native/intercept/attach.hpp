// Captures on demand (`kerncap attachable`, `kerncap trigger`). In: requests, control files that appear in the work directory.
// Out: the tool is armed with them. Until one comes a thread sleeps in read(2) and nothing else is different.
// Called by tool.cpp when the first queue is created.
#pragma once

namespace kerncap::intercept {

class Tool;

// Says in attached-<pid>.json that requests may come, and waits for request-<pid>.json and cancel-<pid>: once a process.
void watch_requests(Tool& tool);

}  // namespace kerncap::intercept
