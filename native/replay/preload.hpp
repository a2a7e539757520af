// The virtual GPU under a launcher (a debugger, a profiler): it is preloaded into kerncap-replay and into nothing before it.
// Called first thing, before the HSA runtime is used.
#pragma once

namespace kerncap::replay {

// With a library named in KERNCAP_REPLAY_PRELOAD the program starts itself again with it, in front of what a launcher put into
// LD_PRELOAD. Returns where nothing is named. Throws Error `host.no-preload` when the program cannot be started again.
void preload_and_run_again(char** argv);

}  // namespace kerncap::replay
