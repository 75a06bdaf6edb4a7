import Foundation
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests that the file system in memory gives the same results as the kernel's.
///
/// Otherwise the tests on it would prove nothing.
@Suite(.onOwnThread) struct MemoryFileSystemTests {
  /// A file system, and the descriptors that are open in it.
  private final class Side {
    let fileSystem: any FileSystem
    let path: String
    var descriptors: [Descriptor] = []

    init(_ fileSystem: any FileSystem, _ path: String) {
      self.fileSystem = fileSystem
      self.path = path
    }

    /// Describes a status by the parts that are the same in both file systems.
    func text(_ status: FileStatus?) -> String {
      guard let status else { return "none" }
      let isFile = status.kind == .regular
      return "\(status.kind) \(status.permissions) \(status.owner == CurrentProcess.user) "
        + (isFile ? "\(status.linkCount) links \(status.byteCount) bytes" : "")
    }
  }

  private static let names = ["a", "b", "c", "d", "folder"]
  private static let accesses: [FileAccess] = [.read, .readWrite, .readWriteOrCreate, .create]

  @Test(arguments: 1...8)
  func `every call has the same result as the kernel's`(seed: UInt64) throws {
    let scratch = try Scratch()
    let sides = [
      Side(LinuxFileSystem(), scratch["store"]), Side(MemoryFileSystem(), "/store"),
    ]
    for side in sides {
      try side.fileSystem.makeDirectory(side.path)
      side.descriptors.append(try side.fileSystem.openDirectory(side.path))
    }
    var generator = SeededGenerator(seed: seed)
    for number in 0..<3000 {
      let call = generator.next() % 16
      let draws = (0..<4).map { _ in Int(generator.next() >> 33) }
      var answers = sides.map { answer($0, call, draws) }
      // A process that another test starts keeps the descriptors that were closed here, and their
      // locks, until its program begins.
      var wait = Wait()
      while answers == ["false", "true"], !wait.isOver() {
        Thread.sleep(forTimeInterval: 0.001)
        answers[0] = answer(sides[0], call, draws)
      }
      try #require(answers[0] == answers[1], "call \(number), kind \(call)")
    }
    #expect(sides[0].descriptors.count > 20)
    for side in sides { side.descriptors.forEach(side.fileSystem.close) }
  }

  private func answer(_ side: Side, _ call: UInt64, _ draws: [Int]) -> String {
    do throws(SystemCallError) {
      return try made(side, call, draws)
    } catch {
      return "\(error.call) \(error.errno)"
    }
  }

  private func made(
    _ side: Side, _ call: UInt64, _ draws: [Int]
  ) throws(SystemCallError) -> String {
    let fileSystem = side.fileSystem
    let directory = side.descriptors[0]
    let descriptor = side.descriptors[draws[0] % side.descriptors.count]
    let name = Self.names[draws[1] % Self.names.count]
    // A store neither renames nor links directories.
    let file = Self.names[draws[2] % 4]
    let buffer = ByteBuffer(byteCount: 300)
    switch call {
    case 0:
      try fileSystem.makeDirectory("\(side.path)/folder")
      return "made"
    case 1, 2, 3:
      let access = Self.accesses[draws[2] % 4]
      let place = side.descriptors.count + 1
      side.descriptors.append(try fileSystem.open(name, in: directory, access))
      return "opened \(place)"
    case 4 where draws[0] % side.descriptors.count > 0:
      // Another test may get the same number immediately, so it is not used again.
      fileSystem.close(side.descriptors.remove(at: draws[0] % side.descriptors.count))
      return "closed"
    case 5:
      return side.text(try fileSystem.status(of: descriptor))
    case 6:
      return side.text(try fileSystem.status(of: name, in: directory))
    case 7:
      let status = try fileSystem.status(of: "\(side.path)/\(name)", in: .workingDirectory)
      return side.text(status)
    case 8:
      return "\(try fileSystem.names(in: directory).sorted())"
    case 9:
      let count = try fileSystem.read(descriptor, at: draws[2] % 500, into: buffer, 0..<200)
      return "\(buffer.bytes(0..<count))"
    case 10, 11:
      buffer.copy([UInt8](repeating: UInt8(draws[3] % 256), count: 300), to: 0)
      let range = 0..<draws[1] % 300
      return "\(try fileSystem.write(buffer, range, to: descriptor, at: draws[2] % 400))"
    case 12:
      try fileSystem.truncate(descriptor, to: draws[2] % 400)
      return "cut"
    case 13:
      draws[3] % 2 == 0
        ? try fileSystem.rename(file, to: Self.names[draws[0] % 4], in: directory)
        : try fileSystem.link(file, to: Self.names[draws[0] % 4], in: directory)
      return "renamed or linked"
    case 14:
      try fileSystem.remove(name, in: directory)
      return "removed"
    default:
      if draws[3] % 3 == 0 {
        fileSystem.unlock(descriptor, byte: draws[2] % 2)
        return "unlocked"
      }
      try draws[1] % 2 == 0
        ? fileSystem.synchronize(descriptor) : fileSystem.synchronizeData(descriptor)
      return "\(try fileSystem.tryLock(descriptor, byte: draws[2] % 2))"
    }
  }
}
