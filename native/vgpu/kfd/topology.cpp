#include "vgpu/kfd/topology.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "vgpu/isa/memory/global_sync.hpp"
#include "vgpu/kfd/cards.hpp"
#include "vgpu/kfd/model.hpp"

namespace kerncap::vgpu::topology {
namespace {

constexpr std::string_view kRoots[] = {"/sys/devices/virtual/kfd/kfd/topology", "/sys/class/kfd/kfd/topology"};
constexpr std::string_view kModule = "/sys/module/amdgpu/";

// Capability bits. Source: kfd_topology.h / hsakmttypes.h, HSA_CAPABILITY.
constexpr std::uint64_t kDoorbellType2 = 2u << 12, kWatchPointsSupported = 1u << 7, kWatchPointsFour = 2u << 8,
                        kSramEcc = 1u << 26;
// Link types. Source: hsakmttypes.h, HSA_IOLINKTYPE.
constexpr std::uint64_t kLinkPcie = 2, kLinkXgmi = 11;
constexpr std::uint64_t kLinkEnabled = 1, kLinkBidirectional = 2;
constexpr std::uint64_t kHeapSystem = 0, kHeapPublic = 1, kHeapPrivate = 2;
constexpr std::uint64_t kCacheDataAndSimd = 9;

using Properties = std::initializer_list<std::pair<const char*, std::uint64_t>>;

std::string text(Properties properties) {
  std::string out;
  for (const auto& [name, value] : properties) out.append(name).append(" ").append(std::to_string(value)).append("\n");
  return out;
}

std::optional<unsigned> number(std::string_view word) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || word.empty()) return std::nullopt;
  return value;
}

// Path below a root, without slashes at either end; nullopt when the path is elsewhere.
std::optional<std::string_view> below(std::string_view root, std::string_view path) {
  if (!path.starts_with(root)) return std::nullopt;
  std::string_view rest = path.substr(root.size());
  if (!rest.empty() && rest.front() != '/') return std::nullopt;
  while (!rest.empty() && rest.front() == '/') rest.remove_prefix(1);
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  return rest;
}

// Path below the topology root.
std::optional<std::string_view> below_root(std::string_view path) {
  for (const std::string_view root : kRoots)
    if (const auto rest = below(root, path)) return rest;
  return std::nullopt;
}

std::string_view take_word(std::string_view& rest) {
  const auto slash = rest.find('/');
  const std::string_view word = rest.substr(0, slash);
  rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  return word;
}

// Every node is linked to every other, but the CPU to a GPU only when it can reach that GPU's memory: without a large
// BAR the driver reports the link from the GPU alone, and from that the runtimes learn that the CPU must not touch it.
// Source: amdgpu kfd_crat.c, CRAT_IOLINK_FLAGS_BI_DIRECTIONAL.
unsigned links_of(const Config& config, unsigned node) { return node == 0 && !config.large_bar ? 0 : config.gpus; }

std::string cpu_node(const Config& config) {
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  return text({{"cpu_cores_count", cpus > 0 ? static_cast<std::uint64_t>(cpus) : 1}, {"simd_count", 0},
               {"mem_banks_count", 1}, {"caches_count", 0}, {"io_links_count", links_of(config, 0)}, {"p2p_links_count", 0},
               {"cpu_core_id_base", 0}, {"simd_id_base", 0}, {"max_waves_per_simd", 0}, {"lds_size_in_kb", 0},
               {"gds_size_in_kb", 0}, {"wave_front_size", 0}, {"array_count", 0}, {"simd_arrays_per_engine", 0},
               {"cu_per_simd_array", 0}, {"simd_per_cu", 0}, {"max_slots_scratch_cu", 0}, {"gfx_target_version", 0},
               {"vendor_id", 0}, {"device_id", 0}, {"location_id", 0}, {"domain", 0}, {"drm_render_minor", 0},
               {"hive_id", 0}, {"num_sdma_engines", 0}, {"num_sdma_xgmi_engines", 0},
               {"num_sdma_queues_per_engine", 0}, {"num_cp_queues", 0}, {"max_engine_clk_ccompute", 3000}});
}

unsigned caches_of(const Model& m) { return m.cache_kib[2] != 0 ? 3 : 2; }

std::string gpu_node(const Config& config, unsigned gpu) {
  const Model& m = model_of(config.target);
  const std::uint64_t capability =
      kDoorbellType2 | kWatchPointsSupported | kWatchPointsFour | (m.wave_size == 64 ? kSramEcc : 0);
  return text({{"cpu_cores_count", 0}, {"simd_count", m.simd_count}, {"mem_banks_count", 1},
               {"caches_count", caches_of(m)}, {"io_links_count", config.gpus}, {"p2p_links_count", 0},
               {"cpu_core_id_base", 0}, {"simd_id_base", 0x80001000u}, {"max_waves_per_simd", m.waves_per_simd},
               {"lds_size_in_kb", m.lds_kib}, {"gds_size_in_kb", 0}, {"num_gws", isa::GlobalSync::kResources}, {"wave_front_size", m.wave_size},
               {"array_count", m.arrays}, {"simd_arrays_per_engine", m.arrays_per_engine},
               {"cu_per_simd_array", m.cu_per_array}, {"simd_per_cu", m.simd_per_cu}, {"max_slots_scratch_cu", 32},
               {"gfx_target_version", m.gfx_target_version}, {"vendor_id", 0x1002}, {"device_id", m.device_id},
               {"location_id", pci_location(gpu)}, {"domain", 0}, {"drm_render_minor", kFirstRenderMinor + gpu},
               {"hive_id", config.gpus > 1 ? 0x77u : 0u}, {"num_sdma_engines", m.sdma_engines},
               {"num_sdma_xgmi_engines", m.sdma_xgmi_engines}, {"num_sdma_queues_per_engine", 8},
               {"num_cp_queues", 24}, {"max_engine_clk_fcompute", kEngineClockMhz}, {"local_mem_size", 0},
               {"fw_version", m.firmware}, {"capability", capability}, {"debug_prop", 0},
               {"sdma_fw_version", m.sdma_firmware}, {"unique_id", unique_id_of(gpu)},
               {"num_xcc", m.xccs}, {"max_engine_clk_ccompute", 3000}});
}

std::string memory_bank(const Config& config, unsigned node) {
  if (node == 0) {
    const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * 4096;
    return text({{"heap_type", kHeapSystem}, {"size_in_bytes", bytes}, {"flags", 0}, {"width", 64}, {"mem_clk_max", 3200}});
  }
  return text({{"heap_type", config.large_bar ? kHeapPublic : kHeapPrivate},
               {"size_in_bytes", vram_bytes_of(config)}, {"flags", 0}, {"width", 4096},
               {"mem_clk_max", 1600}});
}

std::string cache(const Model& m, unsigned index) {
  return text({{"processor_id_low", 0x80001000u}, {"level", index + 1}, {"size", m.cache_kib[index]},
               {"cache_line_size", 128}, {"cache_lines_per_tag", 1}, {"association", 16}, {"latency", 0},
               {"type", kCacheDataAndSimd}}) +
         "sibling_map 1\n";
}

// Links of a node are numbered in the order of the other nodes.
std::string link(const Config& config, unsigned node, unsigned index) {
  const unsigned to = index < node ? index : index + 1;
  const bool peers = node != 0 && to != 0;
  return text({{"type", peers ? kLinkXgmi : kLinkPcie}, {"version_major", 0}, {"version_minor", 0},
               {"node_from", node}, {"node_to", to}, {"weight", peers ? 15u : 20u}, {"min_latency", 0},
               {"max_latency", 0}, {"min_bandwidth", 312}, {"max_bandwidth", 31500},
               {"recommended_transfer_size", 0}, {"recommended_sdma_engine_id_mask", 0},
               {"flags", peers || config.large_bar ? kLinkEnabled | kLinkBidirectional : kLinkEnabled}});
}

std::optional<std::string> node_file(const Config& config, unsigned node, std::string_view rest) {
  if (rest == "gpu_id") return std::to_string(node == 0 ? 0 : gpu_id_of(node - 1)) + "\n";
  if (rest == "name") return node == 0 ? "\n" : std::string(isa::name(config.target)) + "\n";
  if (rest == "properties") return node == 0 ? cpu_node(config) : gpu_node(config, node - 1);
  const std::string_view kind = take_word(rest);
  const auto index = number(take_word(rest));
  if (!index || rest != "properties") return std::nullopt;
  const Model& m = model_of(config.target);
  if (kind == "mem_banks" && *index == 0) return memory_bank(config, node);
  if (kind == "caches" && node != 0 && *index < caches_of(m)) return cache(m, *index);
  if (kind == "io_links" && *index < links_of(config, node)) return link(config, node, *index);
  return std::nullopt;
}

std::vector<std::string> numbers(unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace

bool covers(std::string_view path) noexcept {
  return below_root(path) || path.starts_with(kModule) || below(cards::kRoot, path);
}

std::optional<std::string> file(const Config& config, std::string_view path) {
  if (path.starts_with(kModule)) {
    const std::string_view name = path.substr(kModule.size());
    if (name == "initstate") return "live\n";
    if (name == "version") return "6.10.5\n";
    return std::nullopt;
  }
  if (const auto card = below(cards::kRoot, path)) return cards::file(config, *card);
  auto rest = below_root(path);
  if (!rest) return std::nullopt;
  if (*rest == "generation_id") return "2\n";
  if (*rest == "system_properties") return text({{"platform_oem", 0}, {"platform_id", 0}, {"platform_rev", 0}});
  if (take_word(*rest) != "nodes") return std::nullopt;
  const auto node = number(take_word(*rest));
  if (!node || *node > config.gpus) return std::nullopt;
  return node_file(config, *node, *rest);
}

std::optional<std::string> link(const Config& config, std::string_view path) {
  const auto card = below(cards::kRoot, path);
  return card ? cards::link(config, *card) : std::nullopt;
}

std::optional<std::vector<std::string>> directory(const Config& config, std::string_view path) {
  if (const auto card = below(cards::kRoot, path)) return cards::directory(config, *card);
  auto rest = below_root(path);
  if (!rest) return std::nullopt;
  if (rest->empty()) return std::vector<std::string>{"generation_id", "system_properties", "nodes"};
  if (take_word(*rest) != "nodes") return std::nullopt;
  if (rest->empty()) return numbers(config.gpus + 1);
  const auto node = number(take_word(*rest));
  if (!node || *node > config.gpus) return std::nullopt;
  if (rest->empty())
    return std::vector<std::string>{"gpu_id", "name", "properties", "mem_banks", "caches", "io_links", "p2p_links"};
  if (*rest == "mem_banks") return numbers(1);
  if (*rest == "caches") return numbers(*node == 0 ? 0 : caches_of(model_of(config.target)));
  if (*rest == "io_links") return numbers(links_of(config, *node));
  if (*rest == "p2p_links") return numbers(0);
  return std::nullopt;
}

}  // namespace kerncap::vgpu::topology
