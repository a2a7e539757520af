#include "intercept/rank.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

namespace kerncap::intercept {
namespace {

std::optional<std::uint32_t> rank_of_environment() {
  // Source: mpirun(1) of Open MPI; MPICH, Hydra's PMI; srun(1); torchrun's environment variables.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK", "LOCAL_RANK"}) {
    const char* const text = std::getenv(name);
    if (text == nullptr) continue;
    const char* const end = text + std::strlen(text);
    std::uint32_t rank = 0;
    const auto [stop, error] = std::from_chars(text, end, rank);
    if (error == std::errc{} && stop == end) return rank;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> own_rank() {
  static const auto rank = rank_of_environment();
  return rank;
}

Json own_rank_document() { return own_rank() ? Json(*own_rank()) : Json(nullptr); }

Control for_this_process(Control control) {
  const auto rank = own_rank();
  if (control.ranks.all) {
    control.work_dir /= rank ? "rank-" + std::to_string(*rank) : "pid-" + std::to_string(getpid());
    std::filesystem::create_directories(control.work_dir);
  } else if (control.ranks.only && control.ranks.only != rank && control.mode == Mode::Capture) {
    control.mode = Mode::List;
  }
  return control;
}

}  // namespace kerncap::intercept
