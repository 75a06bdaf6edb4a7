import FoundationEssentials

/// An operation that can be timed.
enum Operation: String, CaseIterable, Encodable {
  case put, get, list
  case listAgain = "list-again"
  case remove
}

/// The output of `measure`.
struct Measurement: Encodable {
  let operation: Operation
  let count: Int
  let nanoseconds: Int64

  init(_ operation: Operation, count: Int, time: Duration) {
    self.operation = operation
    self.count = count
    let (seconds, attoseconds) = time.components
    nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}

/// The output of `describe`.
struct Description: Encodable {
  let name: String
  // The library does not know its version: `install` gets it from the package manager.
  let version = ProcessInfo.processInfo.environment["SWIFT_CRYPTO_VERSION"] ?? "unknown"
  let what: String
  let durable = "yes"
  let durableBecause = """
    Under strace, a put syncs the new file, renames it and syncs the directory before it returns; \
    a removal syncs the directory.
    """
  let sealed: String
  let start = "in process"
  let operations = Operation.allCases

  init(_ algorithm: Algorithm) {
    name = algorithm.peerName
    what = """
      A Swift program that keeps each item in a file of its own, sealed by \(algorithm.typeName) \
      of swift-crypto; identifiers are the names of the files.
      """
    sealed = "\(algorithm.title), bound to the identifier"
  }
}
