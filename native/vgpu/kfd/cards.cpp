#include "vgpu/kfd/cards.hpp"

#include <charconv>
#include <cstdio>

#include "vgpu/kfd/model.hpp"

namespace kerncap::vgpu::cards {
namespace {

// A node below the root: `card0` or `renderD128`, and what follows it.
struct Node {
  unsigned gpu = 0;
  bool render = false;
  std::string_view rest = {};
};

std::optional<Node> parse(const Config& config, std::string_view path) {
  const auto slash = path.find('/');
  Node node{.rest = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1)};
  std::string_view name = path.substr(0, slash);
  node.render = name.starts_with("renderD");
  if (!node.render && !name.starts_with("card")) return std::nullopt;
  name.remove_prefix(node.render ? 7 : 4);
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), node.gpu);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  if (node.render) node.gpu -= kFirstRenderMinor;
  if (node.gpu >= config.gpus) return std::nullopt;
  return node;
}

template <class... Values>
std::string format(const char* text, Values... values) {
  char line[160];
  std::snprintf(line, sizeof line, text, values...);
  return line;
}

// "0000:03:00.0" of the first GPU, as location_id of the topology says.
std::string slot(unsigned gpu) { return format("0000:%02x:00.0", pci_location(gpu) >> 8); }

std::string name(const Node& node) {
  return node.render ? format("renderD%u", kFirstRenderMinor + node.gpu) : format("card%u", node.gpu);
}

}  // namespace

std::optional<std::string> file(const Config& config, std::string_view path) {
  const auto node = parse(config, path);
  if (!node) return std::nullopt;
  const Model& model = model_of(config.target);
  const std::string_view wanted = node->rest;
  if (wanted == "dev") return format("226:%u\n", node->render ? kFirstRenderMinor + node->gpu : node->gpu);
  if (wanted == "device/vendor" || wanted == "device/subsystem_vendor") return "0x1002\n";
  if (wanted == "device/device" || wanted == "device/subsystem_device") return format("0x%04x\n", model.device_id);
  if (wanted == "device/revision") return "0x00\n";
  if (wanted == "device/class") return "0x038000\n";
  if (wanted == "device/unique_id")
    return format("%016llx\n", static_cast<unsigned long long>(unique_id_of(node->gpu)));
  if (wanted == "device/mem_info_vram_total") return std::to_string(vram_bytes_of(config)) + "\n";
  if (wanted == "device/uevent")
    return format("DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:%04X\nPCI_SLOT_NAME=%s\n", model.device_id,
                  slot(node->gpu).c_str());
  return std::nullopt;
}

std::optional<std::vector<std::string>> directory(const Config& config, std::string_view path) {
  if (path.empty()) {
    std::vector<std::string> names;
    for (unsigned gpu = 0; gpu < config.gpus; ++gpu)
      for (const bool render : {false, true}) names.push_back(name({.gpu = gpu, .render = render}));
    return names;
  }
  const auto node = parse(config, path);
  if (!node) return std::nullopt;
  if (node->rest.empty()) return std::vector<std::string>{"dev", "device"};
  if (node->rest == "device")
    return std::vector<std::string>{"vendor", "device", "subsystem_vendor", "subsystem_device", "revision", "class",
                                    "unique_id", "mem_info_vram_total", "uevent", "drm"};
  if (node->rest == "device/drm")
    return std::vector<std::string>{name({.gpu = node->gpu}), name({.gpu = node->gpu, .render = true})};
  return std::nullopt;
}

std::optional<std::string> link(const Config& config, std::string_view path) {
  const auto node = parse(config, path);
  if (!node) return std::nullopt;
  if (node->rest.empty()) return "../../devices/pci0000:00/" + slot(node->gpu) + "/drm/" + name(*node);
  if (node->rest == "device") return "../../../" + slot(node->gpu);
  return std::nullopt;
}

}  // namespace kerncap::vgpu::cards
