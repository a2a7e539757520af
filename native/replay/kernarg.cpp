#include "replay/kernarg.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

std::uint64_t load_u64(std::span<const std::byte> bytes, const KernelArgument& argument) {
  std::uint64_t value = 0;
  if (argument.offset > bytes.size()) return 0;
  const std::size_t n = std::min<std::size_t>({sizeof value, argument.size, bytes.size() - argument.offset});
  std::memcpy(&value, bytes.data() + argument.offset, n);
  return value;
}

[[noreturn]] void unsupported(const KernelArgument& argument, const std::string& why) {
  throw Error("replay.unsupported-hidden-argument", "hidden argument " + printable(argument.value_kind) + " " + why);
}

std::optional<std::size_t> dimension(std::string_view kind, std::string_view prefix) {
  if (kind.size() != prefix.size() + 1 || !kind.starts_with(prefix)) return std::nullopt;
  if (kind.back() < 'x' || kind.back() > 'z') return std::nullopt;
  return static_cast<std::size_t>(kind.back() - 'x');
}

// What follows from the launch alone.
std::optional<std::uint64_t> from_launch(const KernargRequest& request, std::string_view kind) {
  const DispatchInfo& capture = request.capture;
  if (const auto d = dimension(kind, "hidden_block_count_")) return capture.grid[*d] / capture.workgroup[*d];
  if (const auto d = dimension(kind, "hidden_group_size_")) return capture.workgroup[*d];
  if (const auto d = dimension(kind, "hidden_remainder_")) return capture.grid[*d] % capture.workgroup[*d];
  if (dimension(kind, "hidden_global_offset_")) return 0;
  if (kind == "hidden_grid_dims") return capture.dims;
  if (kind == "hidden_none") return 0;
  if (kind == "hidden_dynamic_lds_size") {
    return capture.group_segment_bytes - std::min(capture.group_segment_bytes, request.captured.group_segment_bytes);
  }
  return std::nullopt;
}

const KernelArgument* find_kind(const KernelDescription& kernel, std::string_view kind) {
  const auto it = std::ranges::find(kernel.arguments, kind, &KernelArgument::value_kind);
  return it == kernel.arguments.end() ? nullptr : &*it;
}

// The value that a hidden argument of the target must have.
std::uint64_t hidden_value(const KernargRequest& request, const KernelArgument& argument) {
  const std::string_view kind = argument.value_kind;
  const KernelArgument* const captured = find_kind(request.captured, kind);
  const std::uint64_t captured_value = captured == nullptr ? 0 : load_u64(request.capture.kernarg, *captured);
  const auto launch_value = from_launch(request, kind);
  if (launch_value) return captured == nullptr ? *launch_value : captured_value;
  if (kind == "hidden_queue_ptr") return request.queue_va;
  if (kind == "hidden_private_base" || kind == "hidden_shared_base") {
    if (captured == nullptr) unsupported(argument, "is wanted by the variant, and the captured kernel had none");
    return captured_value;
  }
  // Buffers of the runtime. One that lies in captured memory has its captured content at its captured address.
  if (kind == "hidden_printf_buffer" || kind == "hidden_heap_v1" || kind == "hidden_multigrid_sync_arg") {
    if (captured_value == 0 || request.in_closure(captured_value)) return captured_value;
    unsupported(argument, "points to memory of the application's runtime that was not captured");
  }
  // The service behind it was the application's. A kernel that never calls it (an assertion that holds) runs all the same; one that
  // does faults at an address that nobody has: calls_host() tells.
  if (kind == "hidden_hostcall_buffer") return captured_value == 0 ? 0 : absent_hostcall_va;
  // These need the application's runtime: only a null pointer can be replayed.
  if (kind == "hidden_default_queue" || kind == "hidden_completion_action") {
    if (captured_value == 0) return 0;
    unsupported(argument, "needs the host side of the application's runtime");
  }
  unsupported(argument, "is unknown to this version");
}

void check_explicit_arguments(const KernelDescription& captured, const KernelDescription& target) {
  const auto explicit_arguments = [](const KernelDescription& kernel) {
    std::vector<const KernelArgument*> out;
    for (const KernelArgument& argument : kernel.arguments) {
      if (!argument.hidden()) out.push_back(&argument);
    }
    return out;
  };
  const auto expected = explicit_arguments(captured);
  const auto actual = explicit_arguments(target);
  if (expected.size() != actual.size()) {
    throw Error("replay.variant-arguments", "the variant's kernel has " + std::to_string(actual.size()) + " arguments, the captured one " +
                                                std::to_string(expected.size()));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const KernelArgument& a = *expected[i];
    const KernelArgument& b = *actual[i];
    if (a.offset == b.offset && a.size == b.size && a.value_kind == b.value_kind) continue;
    const auto text = [](const KernelArgument& argument) {
      return printable(argument.value_kind) + " of " + std::to_string(argument.size) + " bytes at offset " + std::to_string(argument.offset);
    };
    throw Error("replay.variant-arguments",
                "argument " + std::to_string(i) + " of the variant is " + text(b) + ", of the captured kernel " + text(a));
  }
}

}  // namespace

Kernarg build_kernarg(const KernargRequest& request) {
  Kernarg result;
  const bool is_captured = &request.captured == &request.target;
  if (is_captured) {
    result.bytes = request.capture.kernarg;
  } else {
    check_explicit_arguments(request.captured, request.target);
    result.bytes.assign(request.target.kernarg_bytes, std::byte{0});
    for (const KernelArgument& argument : request.target.arguments) {
      if (argument.hidden()) continue;
      if (std::uint64_t{argument.offset} + argument.size > request.capture.kernarg.size()) {
        throw Error("bundle.malformed", "the captured kernarg segment is smaller than its kernel's arguments");
      }
      std::memcpy(result.bytes.data() + argument.offset, request.capture.kernarg.data() + argument.offset, argument.size);
    }
  }
  for (const KernelArgument& argument : request.target.arguments) {
    if (!argument.hidden()) continue;
    const std::uint64_t value = hidden_value(request, argument);
    // A segment may end before the last hidden arguments when nothing reads them.
    if (std::uint64_t{argument.offset} + argument.size > result.bytes.size()) continue;
    const bool same = load_u64(result.bytes, argument) == value && argument.size <= sizeof value;
    if (same || argument.value_kind == "hidden_none") continue;
    std::memcpy(result.bytes.data() + argument.offset, &value, std::min<std::size_t>(sizeof value, argument.size));
  }
  for (std::uint32_t i = 0; i < result.bytes.size(); ++i) {
    const bool differs = i >= request.capture.kernarg.size() || result.bytes[i] != request.capture.kernarg[i];
    if (!differs) continue;
    if (!result.rebuilt.empty() && result.rebuilt.back().first + result.rebuilt.back().second == i) {
      ++result.rebuilt.back().second;
    } else {
      result.rebuilt.emplace_back(i, 1);
    }
  }
  return result;
}

LaunchSizes launch_sizes(const DispatchInfo& capture, const KernelDescription& captured, const KernelDescription& target) {
  if (&captured == &target) return {capture.group_segment_bytes, capture.private_segment_bytes};
  const auto& wanted = target.required_workgroup;
  if (wanted && *wanted != capture.workgroup) {
    const auto text = [](const std::array<std::uint32_t, 3>& size) {
      return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
    };
    throw Error("replay.variant-launch", "the variant requires workgroups of " + text(*wanted) + ", the captured launch has " + text(capture.workgroup));
  }
  const std::uint64_t workitems = std::uint64_t{capture.workgroup[0]} * capture.workgroup[1] * capture.workgroup[2];
  if (workitems > target.max_workgroup_workitems) {
    throw Error("replay.variant-launch", "the variant allows workgroups of " + std::to_string(target.max_workgroup_workitems) +
                                             " workitems, the captured launch has " + std::to_string(workitems));
  }
  const std::uint32_t dynamic = capture.group_segment_bytes - std::min(capture.group_segment_bytes, captured.group_segment_bytes);
  const std::uint32_t private_bytes = target.dynamic_stack ? std::max(target.private_segment_bytes, capture.private_segment_bytes)
                                                           : target.private_segment_bytes;
  return {target.group_segment_bytes + dynamic, private_bytes};
}

}  // namespace kerncap::replay
