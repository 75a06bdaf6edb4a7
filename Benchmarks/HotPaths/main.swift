import Foundation
import SessionToolsHotPathLimit

let usage = """
  usage: session-tools-hot-paths BYTES PAIRS
         session-tools-hot-paths refresh WAITERS PAIRS

  Times the operations that are done for every item, at an encoded length from 100 to 16,777,216
  bytes, or a refresh that 1 to 10,000 tasks wait for. Compares each with the least work that it
  needs, alternately in one process. Prints one line of JSON for each operation.
  """

struct Failure: Error {
  let message: String

  init(_ message: String) {
    self.message = message
  }
}

func fail(_ message: String, status: Int32) -> Never {
  FileHandle.standardError.write(Data("\(message)\n".utf8))
  exit(status)
}

/// Keeps the optimizer from removing the computation of an unused value.
@inline(never) func consume<Value>(_ value: Value) {
  withExtendedLifetime(value) {}
}

func number(_ text: String, in range: ClosedRange<Int>) -> Int {
  guard let number = Int(text), range.contains(number) else { fail(usage, status: 2) }
  return number
}

func report(_ result: HotPath.Result) throws {
  let encoder = JSONEncoder()
  encoder.outputFormatting = .sortedKeys
  FileHandle.standardOutput.write(try encoder.encode(result) + Data("\n".utf8))
}

let arguments = Array(CommandLine.arguments.dropFirst())
do {
  switch (arguments.first, arguments.count) {
  case ("refresh", 3):
    let path = RefreshPath(waiterCount: number(arguments[1], in: 1...10_000))
    try report(path.measured(pairCount: number(arguments[2], in: 1...10_000)))
  case (_, 2):
    let byteCount = number(arguments[0], in: 100...16 << 20)
    let pairCount = number(arguments[1], in: 1...10_000)
    for path in try CodingPaths(byteCount: byteCount).all()
      + SessionPaths(byteCount: byteCount).all()
    {
      try report(path.measured(pairCount: pairCount, batchTime: .milliseconds(2)))
    }
  default: fail(usage, status: 2)
  }
} catch {
  fail("session-tools-hot-paths: \((error as? Failure)?.message ?? "\(error)")", status: 1)
}
