import Foundation
import SealedStore
import SessionToolsTestSupport
import Testing

/// Tests of the available memory, read from simulated files of a kernel.
@Suite struct AvailableMemoryTests {
  let root: TemporaryDirectory

  init() throws {
    root = try TemporaryDirectory()
  }

  private func write(_ text: String, to path: String) throws {
    let file = URL(filePath: root[path])
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  private var byteCount: Int? { AvailableMemory.byteCount(root: root.path) }

  @Test func `without a limit of a group, the kernel's available memory counts`() throws {
    #expect(byteCount == nil)
    try write("MemTotal:  900 kB\nMemFree:  1 kB\nMemAvailable:   800 kB\n", to: "proc/meminfo")
    #expect(byteCount == 800 << 10)
    try write("0::/\n", to: "proc/self/cgroup")
    #expect(byteCount == 800 << 10)
    try write("max\n", to: "sys/fs/cgroup/memory.max")
    #expect(byteCount == 800 << 10)
  }

  @Test func `the smallest limit of a group of the process counts`() throws {
    try write("MemAvailable:   800 kB\n", to: "proc/meminfo")
    try write("4:memory:/old\n0::/outer/inner.scope\n", to: "proc/self/cgroup")
    try write("1000000\n", to: "sys/fs/cgroup/outer/memory.max")
    #expect(byteCount == 800 << 10)
    try write("300000\n", to: "sys/fs/cgroup/outer/memory.max")
    try write("max\n", to: "sys/fs/cgroup/outer/inner.scope/memory.max")
    #expect(byteCount == 300_000)
    try write("200000\n", to: "sys/fs/cgroup/outer/inner.scope/memory.max")
    #expect(byteCount == 200_000)
    // The root of a container is a group of the machine.
    try write("100000\n", to: "sys/fs/cgroup/memory.max")
    #expect(byteCount == 100_000)
    try write("1\n", to: "sys/fs/cgroup/other/memory.max")
    #expect(byteCount == 100_000)
  }

  @Test func `a file with other contents is ignored`() throws {
    try write("MemAvailable: much\n", to: "proc/meminfo")
    try write("nothing", to: "proc/self/cgroup")
    #expect(byteCount == nil)
    try write("", to: "proc/meminfo")
    try write("0::/group", to: "proc/self/cgroup")
    #expect(byteCount == nil)
  }

  @Test func `the available memory of this machine is known`() throws {
    let available = try #require(AvailableMemory.byteCount())
    #expect(available > 1 << 20)
    #expect(UInt64(available) <= ProcessInfo.processInfo.physicalMemory)
  }
}
