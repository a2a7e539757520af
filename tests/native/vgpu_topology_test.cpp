// The virtual sysfs tree.
#include "vgpu/kfd/topology.hpp"

#include <gmock/gmock.h>

namespace kerncap::vgpu::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kRoot = "/sys/devices/virtual/kfd/kfd/topology";
std::string read(const Config& config, const std::string& name) {
  return file(config, std::string(kRoot) + "/" + name).value_or("no such file");
}

TEST(Topology, CoversItsOwnTreeOnly) {
  EXPECT_TRUE(covers("/sys/devices/virtual/kfd/kfd/topology/nodes"));
  EXPECT_TRUE(covers("/sys/class/kfd/kfd/topology/nodes/0/gpu_id"));
  EXPECT_TRUE(covers("/sys/module/amdgpu/initstate"));
  EXPECT_FALSE(covers("/sys/devices/virtual/kfd/kfd/topology2"));
  EXPECT_FALSE(covers("/sys/devices/system/cpu"));
}

TEST(Topology, NodesAreTheCpuAndTheGpus) {
  const Config config = parse_config("gfx90a,gpus=2");
  EXPECT_THAT(*directory(config, std::string(kRoot) + "/nodes"), ElementsAre("0", "1", "2"));
  EXPECT_THAT(*directory(config, std::string(kRoot) + "/nodes/"), ElementsAre("0", "1", "2"));
  EXPECT_EQ(read(config, "nodes/0/gpu_id"), "0\n");
  EXPECT_NE(read(config, "nodes/1/gpu_id"), read(config, "nodes/2/gpu_id"));
  EXPECT_THAT(read(config, "nodes/2/properties"), HasSubstr("\ndrm_render_minor 129\n"));
  EXPECT_EQ(read(config, "nodes/3/gpu_id"), "no such file");
  EXPECT_EQ(read(config, "nodes/1/mem_banks/1/properties"), "no such file");
}

TEST(Topology, TargetsDiffer) {
  EXPECT_THAT(read(parse_config("gfx90a"), "nodes/1/properties"), HasSubstr("\ngfx_target_version 90010\n"));
  EXPECT_THAT(read(parse_config("gfx942"), "nodes/1/properties"), HasSubstr("\ngfx_target_version 90402\n"));
  EXPECT_THAT(read(parse_config("gfx942"), "nodes/1/properties"), HasSubstr("\nlds_size_in_kb 64\n"));
  const std::string mi350 = read(parse_config("gfx950"), "nodes/1/properties");
  EXPECT_THAT(mi350, HasSubstr("\ngfx_target_version 90500\n"));
  EXPECT_THAT(mi350, HasSubstr("\nlds_size_in_kb 160\n"));
  const std::string navi = read(parse_config("gfx1100"), "nodes/1/properties");
  EXPECT_THAT(navi, HasSubstr("\ngfx_target_version 110000\n"));
  EXPECT_THAT(navi, HasSubstr("\nwave_front_size 32\n"));
  const std::string navi48 = read(parse_config("gfx1201"), "nodes/1/properties");
  EXPECT_THAT(navi48, HasSubstr("\ngfx_target_version 120001\n"));
  EXPECT_THAT(navi48, HasSubstr("\nsimd_count 128\n"));
}

TEST(Topology, DeviceMemoryIsTheModelsOrAsAsked) {
  const char* const bank = "nodes/1/mem_banks/0/properties";
  EXPECT_THAT(read(parse_config("gfx1100"), bank), HasSubstr("\nsize_in_bytes 25769803776\n"));
  const Config small = parse_config("gfx1100,vram=256");
  EXPECT_THAT(read(small, bank), HasSubstr("\nsize_in_bytes 268435456\n"));
  EXPECT_EQ(file(small, "/sys/class/drm/renderD128/device/mem_info_vram_total"), "268435456\n");
  EXPECT_THROW(parse_config("gfx1100,vram=63"), std::invalid_argument);
  EXPECT_THROW(parse_config("gfx1100,vram=256M"), std::invalid_argument);
}

TEST(Topology, CardsSayWhereTheGpusAreOnThePciBus) {
  const Config config = parse_config("gfx90a,gpus=2");
  const std::string root = "/sys/class/drm";
  EXPECT_TRUE(covers(root));
  EXPECT_TRUE(covers(root + "/card0/device/vendor"));
  EXPECT_FALSE(covers("/sys/class/drm_dp"));
  EXPECT_THAT(*directory(config, root), ElementsAre("card0", "renderD128", "card1", "renderD129"));
  EXPECT_EQ(file(config, root + "/card1/device/vendor"), "0x1002\n");
  EXPECT_EQ(file(config, root + "/renderD129/dev"), "226:129\n");
  EXPECT_THAT(*file(config, root + "/card1/device/uevent"), HasSubstr("\nPCI_SLOT_NAME=0000:04:00.0\n"));
  EXPECT_THAT(read(config, "nodes/2/properties"), HasSubstr("\nlocation_id 1024\n"));
  EXPECT_EQ(link(config, root + "/card0"), "../../devices/pci0000:00/0000:03:00.0/drm/card0");
  EXPECT_EQ(link(config, root + "/renderD129/device"), "../../../0000:04:00.0");
  EXPECT_EQ(link(config, root + "/card0/device/vendor"), std::nullopt);
  EXPECT_EQ(link(config, root), std::nullopt);
  for (const char* name : {"card2", "card", "card0x", "renderD127", "renderD130", "version/x"}) {
    EXPECT_EQ(directory(config, root + "/" + name), std::nullopt) << name;
    EXPECT_EQ(file(config, root + "/" + name + "/device/vendor"), std::nullopt) << name;
    EXPECT_EQ(link(config, root + "/" + name), std::nullopt) << name;
  }
  EXPECT_EQ(file(config, root + "/card0/device/gpu_busy_percent"), std::nullopt) << "nothing is made up";
}

TEST(Topology, APrivateBarIsAPrivateHeapWithoutALinkFromTheCpu) {
  const Config closed = parse_config("gfx942"), open = parse_config("gfx942,bar=large");
  EXPECT_THAT(read(closed, "nodes/1/mem_banks/0/properties"), HasSubstr("heap_type 2\n"));
  EXPECT_THAT(read(closed, "nodes/0/properties"), HasSubstr("\nio_links_count 0\n"));
  EXPECT_EQ(read(closed, "nodes/0/io_links/0/properties"), "no such file");
  EXPECT_THAT(read(open, "nodes/1/mem_banks/0/properties"), HasSubstr("heap_type 1\n"));
  EXPECT_THAT(read(open, "nodes/0/io_links/0/properties"), HasSubstr("\nnode_to 1\n"));
}

}  // namespace
}  // namespace kerncap::vgpu::topology
