// Which process of a parallel application this is. In: what its launcher put into the environment. Out: a rank, or nothing; and what
// the control file asks of a process with that rank. Called by entry.cpp, reports.cpp and manifest.cpp.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.hpp"
#include "intercept/control.hpp"

namespace kerncap::intercept {

// Of Open MPI, MPICH and others with a PMI, Slurm, torchrun: the first of their variables that holds a number.
// As it was when the library was loaded.
std::optional<std::uint32_t> own_rank();
Json own_rank_document();  // a number or null

// `ranks` of the control file, applied: every process in a directory of its own (`rank-N`, or `pid-N` without a rank), or only the
// one with that rank capturing, the others noting what they launch. Throws what the file system said.
Control for_this_process(Control control);

}  // namespace kerncap::intercept
