import Foundation

/// The result of one operation of a measured program.
public struct Timing {
  /// The operation's name among the program's arguments.
  public let operation: String
  /// How often it was made.
  public let count: Int
  /// The time of all of them.
  public let time: Duration
  /// Further figures, by their names: bytes, or nanoseconds.
  public let more: [String: Int]

  /// Notes a result.
  public init(operation: String, count: Int, time: Duration, more: [String: Int] = [:]) {
    self.operation = operation
    self.count = count
    self.time = time
    self.more = more
  }

  /// A line like those of the programs in C, with the end time by a clock that all processes share.
  public var json: String {
    let common = [("count", count), ("nanoseconds", time.nanoseconds), ("end", Self.now)]
    let figures = common + more.sorted { $0.key < $1.key }
    return "{\"operation\": \"\(operation)\""
      + figures.map { ", \"\($0.0)\": \($0.1)" }.joined() + "}"
  }

  /// `CLOCK_MONOTONIC` in nanoseconds, the clock that the suspending clock reads on Linux.
  private static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}

extension Duration {
  /// The whole nanoseconds.
  public var nanoseconds: Int {
    Int(components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000)
  }
}

/// An error with a message for the user.
public struct WorkloadError: Error {
  /// What is wrong.
  public let message: String

  /// Notes what is wrong.
  public init(_ message: String) {
    self.message = message
  }
}
