import FoundationEssentials

/// A command, from the arguments after the algorithm.
enum Command {
  case describe
  case prepare(directory: String, itemCount: Int)
  case measure(directory: String, itemCount: Int, operation: Operation, count: Int)
  case check(directory: String, itemCount: Int)

  static let usage = """
    usage: crypto-peer chachapoly|aesgcm describe
           crypto-peer chachapoly|aesgcm prepare DIRECTORY ITEMS
           crypto-peer chachapoly|aesgcm measure DIRECTORY ITEMS OPERATION COUNT
           crypto-peer chachapoly|aesgcm check DIRECTORY ITEMS
    OPERATION is put, get, list, list-again or remove.
    """

  init(_ arguments: some Collection<String>) throws(Failure) {
    let rest = Array(arguments.dropFirst())
    switch (arguments.first, rest.count) {
    case ("describe", 0):
      self = .describe
    case ("prepare", 2):
      self = .prepare(directory: rest[0], itemCount: try Self.number(rest[1]))
    case ("measure", 4):
      guard let operation = Operation(rawValue: rest[2]) else { throw .usage }
      self = .measure(
        directory: rest[0], itemCount: try Self.number(rest[1]), operation: operation,
        count: try Self.number(rest[3]))
    case ("check", 2):
      self = .check(directory: rest[0], itemCount: try Self.number(rest[1]))
    default:
      throw .usage
    }
  }

  /// Runs the command and prints its result.
  func run(_ algorithm: Algorithm) throws(Failure) {
    switch self {
    case .describe:
      try Self.printJSON(Description(algorithm))
    case .prepare(let directory, let itemCount):
      try Workload(directory, algorithm, itemCount: itemCount).prepare()
    case .measure(let directory, let itemCount, let operation, let count):
      let workload = try Workload(directory, algorithm, itemCount: itemCount)
      try Self.printJSON(workload.measure(operation, count: count))
    case .check(let directory, let itemCount):
      try Workload(directory, algorithm, itemCount: itemCount).check()
    }
  }

  private static func number(_ text: String) throws(Failure) -> Int {
    // Without this, "+1" would be a number.
    guard text.utf8.first != UInt8(ascii: "+"), let number = Int(text), 1...10_000_000 ~= number
    else { throw .usage }
    return number
  }

  private static func printJSON(_ value: some Encodable) throws(Failure) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      print(String(decoding: try encoder.encode(value), as: UTF8.self))
    } catch {
      throw .failed("JSON", reason: "\(error)")
    }
  }
}
