import Foundation

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
