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
