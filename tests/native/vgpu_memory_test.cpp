// Page table, extents, backing storage.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "vgpu/memory/backing.hpp"
#include "vgpu/memory/extents.hpp"
#include "vgpu/memory/page_table.hpp"
#include "vgpu/memory/shared.hpp"

namespace kerncap::vgpu {
namespace {

constexpr std::uint64_t kVa = 0x700000000000;

struct Memory {
  explicit Memory(std::size_t size) : bytes(size), storage(Backing::adopt(bytes.data(), size)) {}
  std::vector<std::byte> bytes;
  std::shared_ptr<Storage> storage;
};

TEST(PageTable, FindsOnlyWhatIsMapped) {
  Memory memory(0x3000);
  PageTable table;
  table.map(kVa, 0x3000, memory.bytes.data(), true, memory.storage);
  EXPECT_FALSE(table.find(kVa - 1));
  EXPECT_FALSE(table.find(kVa + 0x3000));
  const auto found = table.find(kVa + 0x2fff);
  EXPECT_EQ(found.va, kVa);
  EXPECT_EQ(found.end, kVa + 0x3000);
  EXPECT_EQ(found.host, memory.bytes.data());
}

TEST(PageTable, UnmappingTheMiddleLeavesBothEnds) {
  Memory memory(0x3000);
  PageTable table;
  table.map(kVa, 0x3000, memory.bytes.data(), true, memory.storage);
  table.unmap(kVa + 0x1000, 0x1000);
  EXPECT_EQ(table.find(kVa).end, kVa + 0x1000);
  EXPECT_FALSE(table.find(kVa + 0x1000));
  const auto tail = table.find(kVa + 0x2800);
  EXPECT_EQ(tail.va, kVa + 0x2000);
  EXPECT_EQ(tail.host, memory.bytes.data() + 0x2000);
  EXPECT_EQ(table.ranges(), 2u);
}

TEST(PageTable, GenerationChangesWhenACachedMappingMayBeStale) {
  Memory a(0x1000), b(0x1000);
  PageTable table;
  const auto first = table.generation().load();
  table.map(kVa, 0x1000, a.bytes.data(), true, a.storage);
  EXPECT_EQ(table.generation().load(), first) << "a new mapping makes no cached one stale";
  table.map(kVa, 0x1000, b.bytes.data(), true, b.storage);
  EXPECT_NE(table.generation().load(), first);
  const auto second = table.generation().load();
  table.unmap(kVa + 0x10000, 0x1000);
  EXPECT_EQ(table.generation().load(), second) << "nothing was mapped there";
  table.unmap(kVa, 0x1000);
  EXPECT_NE(table.generation().load(), second);
}

TEST(PageTable, AMappingKeepsItsStorage) {
  auto storage = Backing::adopt(nullptr, 0x1000);
  const std::weak_ptr<Storage> watch = storage;
  PageTable table;
  table.map(kVa, 0x1000, nullptr, true, std::move(storage));
  EXPECT_FALSE(watch.expired());
  table.unmap(kVa, 0x1000);
  EXPECT_TRUE(watch.expired());
}

TEST(PageTable, ReadOnlyIsHonoured) {
  Memory memory(0x1000);
  PageTable table;
  table.map(kVa, 0x1000, memory.bytes.data(), false, memory.storage);
  EXPECT_NE(table.host(kVa, 8, false), nullptr);
  EXPECT_EQ(table.host(kVa, 8, true), nullptr);
  const auto fault = table.fill32(kVa + 4, 0, 8);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->va, kVa + 4);
  EXPECT_TRUE(fault->write);
}

TEST(PageTable, CopiesAcrossMappingsAndStopsAtTheFirstFault) {
  Memory a(0x1000), b(0x1000), to(0x2000);
  a.bytes[0xfff] = std::byte{7};
  b.bytes[0] = std::byte{9};
  PageTable table;
  table.map(kVa, 0x1000, a.bytes.data(), false, a.storage);
  table.map(kVa + 0x1000, 0x1000, b.bytes.data(), false, b.storage);
  table.map(kVa + 0x10000, 0x2000, to.bytes.data(), true, to.storage);
  EXPECT_FALSE(table.copy(kVa + 0x10000, kVa, 0x2000));
  EXPECT_EQ(to.bytes[0xfff], std::byte{7});
  EXPECT_EQ(to.bytes[0x1000], std::byte{9});
  const auto fault = table.copy(kVa + 0x10000, kVa + 0x1800, 0x1000);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->va, kVa + 0x2000);
  EXPECT_FALSE(fault->write);
}

TEST(PageTable, FillOfAnUnalignedEnd) {
  Memory memory(0x1000);
  PageTable table;
  table.map(kVa, 0x1000, memory.bytes.data(), true, memory.storage);
  EXPECT_FALSE(table.fill32(kVa, 0x04030201, 6));
  EXPECT_EQ(memory.bytes[3], std::byte{4});
  EXPECT_EQ(memory.bytes[5], std::byte{2});
  EXPECT_EQ(memory.bytes[6], std::byte{0});
}

TEST(PageTable, LookUpsWhileMappingsChange) {
  Memory memory(0x2000);
  PageTable table;
  table.map(kVa, 0x1000, memory.bytes.data(), true, memory.storage);
  std::atomic<bool> stop{false};
  std::thread changer([&] {
    for (int i = 0; i < 2000; ++i) {
      table.map(kVa + 0x1000, 0x1000, memory.bytes.data() + 0x1000, true, memory.storage);
      table.unmap(kVa + 0x1000, 0x1000);
    }
    stop = true;
  });
  while (!stop) {
    ASSERT_EQ(table.find(kVa + 0x10).host, memory.bytes.data());
    const auto other = table.find(kVa + 0x1010);
    ASSERT_TRUE(!other || other.host == memory.bytes.data() + 0x1000);
  }
  changer.join();
}

TEST(Extents, FreeSpaceIsJoinedAgain) {
  Extents extents(0, 0x10000);
  const auto a = extents.take(0x1000, 0x1000), b = extents.take(0x1000, 0x1000), c = extents.take(0x1000, 0x1000);
  ASSERT_TRUE(a && b && c);
  extents.give_back(*a, 0x1000);
  extents.give_back(*c, 0x1000);
  extents.give_back(*b, 0x1000);
  EXPECT_EQ(extents.pieces(), 1u);
  EXPECT_EQ(extents.take(0x10000, 0x1000), 0u);
  EXPECT_FALSE(extents.take(1, 1));
}

TEST(Extents, Alignment) {
  Extents extents(0x1000, 0x800000);
  EXPECT_EQ(extents.take(0x200000, 0x200000), 0x200000u);
  EXPECT_EQ(extents.take(0x1000, 0x1000), 0x1000u);
}

// One a process, never destroyed, as in the device.
Backing& backing() {
  static auto* const one = new Backing;
  return *one;
}

TEST(Backing, DeviceMemoryIsChargedAndRefusedWhenFull) {
  VramAccount account;
  account.capacity = 0x3000;
  auto first = backing().allocate(0x2000, &account);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(backing().allocate(0x2000, &account), nullptr);
  EXPECT_EQ(account.used.load(), 0x2000u);
  first.reset();
  EXPECT_EQ(account.used.load(), 0u);
  EXPECT_NE(backing().allocate(0x3000, &account), nullptr);
}

TEST(Backing, FreedMemoryIsZeroForTheNextOwner) {
  auto first = backing().allocate(0x1000, nullptr);
  const std::uint64_t offset = first->mmap_offset();
  first->host()[17] = std::byte{42};
  first.reset();
  const auto second = backing().allocate(0x1000, nullptr);
  ASSERT_EQ(second->mmap_offset(), offset);
  EXPECT_EQ(second->host()[17], std::byte{0});
}

// In a child: what it finds under a name of its parent's.
int child_finds(const SharedName& name, const std::function<bool(const std::shared_ptr<Storage>&)>& right) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(right(open_shared(name)) ? 0 : 1);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Backing, UserMemoryMustBeWritable) {
  constexpr std::uint64_t page = 4096, pages = 5000;  // more than are looked at in one go
  void* const mapped = ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const bytes = static_cast<std::byte*>(mapped);
  ASSERT_NE(Backing::adopt_writable(bytes, pages * page), nullptr);
  EXPECT_EQ(Backing::adopt_writable(bytes + 100, 8192)->host(), bytes + 100);
  ASSERT_EQ(::munmap(bytes + 4998 * page, page), 0);
  EXPECT_EQ(Backing::adopt_writable(bytes, pages * page), nullptr);
  EXPECT_EQ(Backing::adopt_writable(bytes + 4998 * page - 1, 2), nullptr);
  EXPECT_NE(Backing::adopt_writable(bytes, 4998 * page), nullptr);
  EXPECT_NE(Backing::adopt_writable(bytes + 4999 * page, page), nullptr);
  EXPECT_EQ(Backing::adopt_writable(bytes, ~std::uint64_t{0}), nullptr);
  EXPECT_EQ(errno, EFAULT);
  ASSERT_EQ(::mprotect(bytes + page, page, PROT_READ), 0);
  EXPECT_EQ(Backing::adopt_writable(bytes + page + 1, 1), nullptr);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(Backing::adopt_writable(bytes, 2 * page), nullptr);
  ASSERT_EQ(::mprotect(bytes + page, page, PROT_NONE), 0);
  EXPECT_EQ(Backing::adopt_writable(bytes, 2 * page), nullptr);
  EXPECT_EQ(errno, EFAULT);
  ::munmap(mapped, pages * page);
}

TEST(Backing, MuchUserMemoryIsCheckedAsWell) {
  constexpr std::uint64_t page = 4096, size = std::uint64_t{128} << 20;
  const auto mapped = [](int protection) {
    void* const at = ::mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(at, MAP_FAILED);
    return static_cast<std::byte*>(at);
  };
  std::byte* const bytes = mapped(PROT_READ | PROT_WRITE);
  ASSERT_NE(Backing::adopt_writable(bytes, size), nullptr);
  ASSERT_NE(Backing::adopt_writable(bytes + 100, size - 100), nullptr);
  unsigned char used = 0;
  ASSERT_EQ(::mincore(bytes + size / 2, page, &used), 0);
  EXPECT_EQ(used & 1, 0) << "faulted in where nobody asked for it";
  ASSERT_EQ(::mprotect(bytes + size / 2, page, PROT_READ), 0);
  EXPECT_EQ(Backing::adopt_writable(bytes, size), nullptr);
  EXPECT_EQ(errno, EPERM);
  ASSERT_EQ(::munmap(bytes + size / 2, page), 0);
  EXPECT_EQ(Backing::adopt_writable(bytes, size), nullptr);
  EXPECT_EQ(errno, EFAULT);
  ::munmap(bytes, size);
  std::byte* const closed = mapped(PROT_NONE);
  EXPECT_EQ(Backing::adopt_writable(closed, size), nullptr);
  EXPECT_EQ(errno, EFAULT);
  ::munmap(closed, size);
  // A file that is shorter than its mapping.
  const int fd = ::memfd_create("short", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(fd, size / 2), 0);
  void* const file = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  ASSERT_NE(file, MAP_FAILED);
  EXPECT_EQ(Backing::adopt_writable(static_cast<std::byte*>(file), size), nullptr);
  ::munmap(file, size);
  ::close(fd);
}

TEST(Backing, CopiesToFreshMemoryAreCopies) {
  Backing backing;
  const auto storage = backing.allocate(8 << 20, nullptr);
  ASSERT_NE(storage, nullptr);
  std::vector<std::byte> bytes(3 << 20);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 131 + i / 4096);
  const auto same = [&](std::uint64_t at) { return std::memcmp(storage->host() + at, bytes.data(), bytes.size()) == 0; };
  backing.copy(storage->host() + 5, bytes.data(), bytes.size());  // fresh, no page's start
  EXPECT_TRUE(same(5));
  EXPECT_EQ(storage->host()[4], std::byte{0});
  EXPECT_EQ(storage->host()[5 + bytes.size()], std::byte{0});
  backing.copy(storage->host() + 4096, storage->host() + 5, bytes.size());  // used and fresh, onto itself
  EXPECT_TRUE(same(4096));
  backing.copy(storage->host(), bytes.data(), bytes.size());  // used
  EXPECT_TRUE(same(0));
  std::vector<std::byte> other(bytes.size());
  backing.copy(other.data(), storage->host(), other.size());  // to memory of somebody else
  EXPECT_EQ(other, bytes);
}

TEST(Shared, AnotherProcessHasTheSameBytes) {
  Backing backing;
  VramAccount account;
  account.capacity = 1 << 20;
  auto storage = backing.allocate(0x3000, &account);
  storage->flags = 5;
  storage->gpu_id = 77;
  storage->host()[0x2fff] = std::byte{42};
  const SharedName name = share(backing, *storage);
  EXPECT_EQ(share(backing, *storage), name);
  EXPECT_EQ(child_finds(name, [](const auto& found) {
    if (!found || found->size() != 0x3000 || found->flags != 5 || found->gpu_id != 77) return false;
    if (found->host()[0x2fff] != std::byte{42}) return false;
    found->host()[1] = std::byte{43};
    return true;
  }), 0);
  EXPECT_EQ(storage->host()[1], std::byte{43});
  EXPECT_EQ(account.used, 0x3000u) << "charged once";

  SharedName wrong = name;
  ++wrong[3];
  EXPECT_EQ(open_shared(wrong), nullptr);
  EXPECT_EQ(errno, EINVAL);
  storage.reset();
  const auto nothing = [](const auto& found) { return found == nullptr; };
  EXPECT_EQ(child_finds(name, nothing), 0) << "freed";
}

TEST(Backing, DescriptorsMapTheSameMemoryAndKnowTheirNode) {
  const auto storage = backing().allocate(0x1000, nullptr);
  const int fd = backing().open_descriptor(128);
  ASSERT_GE(fd, 0);
  const int duplicate = ::dup(fd), other = backing().open_descriptor(0);
  EXPECT_EQ(backing().node_of(fd), 128u);
  EXPECT_EQ(backing().node_of(duplicate), 128u);
  EXPECT_EQ(backing().node_of(other), 0u);
  EXPECT_FALSE(backing().node_of(STDIN_FILENO));
  void* seen = ::mmap(nullptr, 0x1000, PROT_READ, MAP_SHARED, duplicate, static_cast<off_t>(storage->mmap_offset()));
  ASSERT_NE(seen, MAP_FAILED);
  storage->host()[5] = std::byte{99};
  EXPECT_EQ(static_cast<std::byte*>(seen)[5], std::byte{99});
  ::munmap(seen, 0x1000);
  for (const int open : {fd, duplicate, other}) ::close(open);
}

}  // namespace
}  // namespace kerncap::vgpu
