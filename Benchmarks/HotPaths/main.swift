import Foundation
import HotPathLimit

let usage = """
  usage: hot-paths BYTES PAIRS

  Times what happens for every item, at an encoded length from 100 to 16,777,216 bytes, and the least
  that has to be done for it, by turns in one process. Prints one line of JSON for each operation.
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

/// Keeps the optimizer from leaving out what nobody looks at.
@inline(never) func consume<Value>(_ value: Value) {
  withExtendedLifetime(value) {}
}

let arguments = CommandLine.arguments.dropFirst().map { Int($0) }
guard arguments.count == 2, let byteCount = arguments[0], let pairCount = arguments[1],
  (100...16 << 20).contains(byteCount), (1...10_000).contains(pairCount)
else { fail(usage, status: 2) }

do {
  let encoder = JSONEncoder()
  encoder.outputFormatting = .sortedKeys
  for path in try CodingPaths(byteCount: byteCount).all() + SessionPaths(byteCount: byteCount).all()
  {
    let result = try path.measured(pairCount: pairCount, batchTime: .milliseconds(2))
    FileHandle.standardOutput.write(try encoder.encode(result) + Data("\n".utf8))
  }
} catch {
  fail("hot-paths: \((error as? Failure)?.message ?? "\(error)")", status: 1)
}
