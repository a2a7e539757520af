// What the tool says to Python: files in the work directory. In: registries and errors. Out: seen-<pid>.json,
// profile-<pid>.json, error-<pid>.json, loaded-<pid>.json, claim. Called by tool.cpp and capture.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/json.hpp"
#include "intercept/dispatch_timer.hpp"
#include "intercept/kernels.hpp"
#include "intercept/launches.hpp"

namespace kerncap::intercept {

// Every kernel that was dispatched or could have been, with counts: the list that near names are looked for in.
void write_seen(const std::filesystem::path& work_dir, const KernelRegistry& kernels, const LaunchLog& launches,
                std::uint64_t queues, std::uint64_t dispatches, Json when);

// Calls and times of every kernel, as far as they are known. `whole`: the application has come to its end.
void write_profile(const std::filesystem::path& work_dir, const std::map<const KernelEntry*, KernelTimes>& times,
                   std::uint64_t queues, std::uint64_t dispatches, bool whole);

// Says it and writes it down: as a file; where none can be made (no descriptor is left), as the target of a symbolic link of that
// name. Where the directory is gone, so is who asked (a daemon outlives its command): nobody is told.
void report_error(const std::optional<std::filesystem::path>& work_dir, const Error& error) noexcept;

// First of all: that this process has the library in it. One that ends by _exit, or gives up its right to write there, says nothing
// else. What a library said that was loaded before under the same process id is kept: from the second on files are `<stem>-<pid>-<n>.json`.
void say_loaded(const std::filesystem::path& work_dir) noexcept;

// True for exactly one process of all that share the work directory, until its capture is whole.
bool take_claim(const std::filesystem::path& work_dir);

}  // namespace kerncap::intercept
