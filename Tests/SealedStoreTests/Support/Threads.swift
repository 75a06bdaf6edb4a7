import Foundation
import Synchronization

/// Runs a closure on `count` threads at the same time and waits for all of them.
///
/// - Throws: The first error that any of them threw.
func inThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
  let errors = Locked<[any Error]>([])
  let group = DispatchGroup()
  for number in 0..<count {
    group.enter()
    let thread = Thread {
      defer { group.leave() }
      do { try body(number) } catch { errors.withLock { $0.append(error) } }
    }
    thread.stackSize = 1 << 20
    thread.start()
  }
  group.wait()
  if let error = errors.value.first { throw error }
}

/// A thread of this process, as the kernel sees it.
struct KernelThread: Sendable {
  private let path: String

  /// Returns the calling thread.
  static func current() throws -> KernelThread {
    let place = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
    return KernelThread(path: "/proc/\(place)/status")
  }

  /// How often it has waited, this time included; `nil` while it is awake, 0 when it has ended.
  var waitCount: Int? {
    guard let status = try? String(contentsOfFile: path, encoding: .utf8) else { return 0 }
    let fields = Dictionary(
      status.split(separator: "\n").map { line in
        let parts = line.split(separator: ":", maxSplits: 1)
        return (parts[0], parts.last?.trimmingCharacters(in: .whitespaces) ?? "")
      }, uniquingKeysWith: { first, _ in first })
    guard fields["State"]?.hasPrefix("S") == true else { return nil }
    return fields["voluntary_ctxt_switches"].flatMap { Int($0) }
  }
}

/// Returns whether all of some threads sleep at the same moment.
///
/// Then none of them has a lock that another one waits for: all wait for something else.
func areAsleep(_ threads: [KernelThread]) -> Bool {
  let before = threads.map(\.waitCount)
  Thread.sleep(forTimeInterval: 0.01)
  return !before.contains(nil) && threads.map(\.waitCount) == before
}

/// A value behind a lock that can be captured: `Mutex` itself cannot be copied.
final class Locked<Value: Sendable>: Sendable {
  private let mutex: Mutex<Value>

  init(_ value: Value) {
    mutex = Mutex(value)
  }

  func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try mutex.withLock { value in try body(&value) }
  }

  var value: Value { mutex.withLock { $0 } }
}
