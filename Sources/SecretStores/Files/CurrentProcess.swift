import Glibc
import Synchronization

/// This process and its user, as the kernel sees them.
package enum CurrentProcess {
  /// The process identifier, which changes in a forked child.
  package static var identifier: Int32 { ForkMark.shared.processIdentifier }
  /// The user that files must belong to.
  package static var user: UInt32 { geteuid() }

  /// Returns the text of an error number.
  ///
  /// Safe among threads since glibc 2.32.
  package static func message(for code: Int32) -> String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }
}

/// The process's identifier, in memory that the kernel zeroes in a forked child, so that reading it
/// costs no system call.
///
/// The page lives as long as the process, and its content is atomic: this makes the unchecked
/// conformance true.
@safe private final class ForkMark: @unchecked Sendable {
  static let shared = ForkMark()

  /// `nil` where the kernel cannot zero memory on fork; Linux can since 4.14.
  private let word: UnsafeMutablePointer<Atomic<Int32>>?

  private init() {
    let byteCount = Int(sysconf(Int32(_SC_PAGESIZE)))
    let page = unsafe mmap(
      nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let page = unsafe page, unsafe page != MAP_FAILED else {
      unsafe word = nil
      return
    }
    let wipeOnFork: Int32 = 18  // MADV_WIPEONFORK
    guard unsafe madvise(page, byteCount, wipeOnFork) == 0 else {
      unsafe munmap(page, byteCount)
      unsafe word = nil
      return
    }
    unsafe word = page.bindMemory(to: Atomic<Int32>.self, capacity: 1)
  }

  var processIdentifier: Int32 {
    let known = unsafe word.map { unsafe $0.pointee.load(ordering: .relaxed) } ?? 0
    if known != 0 { return known }
    let identifier = getpid()
    unsafe word?.pointee.store(identifier, ordering: .relaxed)
    return identifier
  }
}

extension CurrentProcess {
  /// The path of the terminal that this process was started on; `nil` if none of its standard
  /// streams is a terminal.
  ///
  /// Not `/dev/tty`, which is another terminal, or none, for a program of another session.
  package static var terminalName: String? {
    for descriptor in [STDIN_FILENO, STDERR_FILENO, STDOUT_FILENO] {
      var name = [CChar](repeating: 0, count: 256)
      let error = unsafe ttyname_r(descriptor, &name, name.count)
      if error == 0 {
        return String(
          decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      }
    }
    return nil
  }
}
