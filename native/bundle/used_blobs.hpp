// Which blobs of an index hold what is still wanted. Called by the tool library when a snapshot is over: of memory that was
// read again because it had moved, only the last reading is part of the capture.
#pragma once

#include <filesystem>

#include "bundle/index.hpp"

namespace kerncap {

// Takes the blobs without a chunk out of the index and removes their files; the others keep their order.
void keep_used_blobs(Index& index, const std::filesystem::path& blob_directory);

}  // namespace kerncap
