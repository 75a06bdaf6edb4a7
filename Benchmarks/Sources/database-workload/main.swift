import Foundation
import Items
import SealedStore
import SessionToolsBase

let usage = """
  usage: database-workload create ADDRESS SCHEMA KEYFILE
         database-workload bulk ADDRESS SCHEMA KEYFILE FIRST COUNT
         database-workload get|durable-put|put-list ADDRESS SCHEMA KEYFILE ITEMS COUNT SEED
         database-workload put-threads ADDRESS SCHEMA KEYFILE ITEMS COUNT SEED THREADS
         database-workload list ADDRESS SCHEMA KEYFILE ITEMS COUNT
         database-workload check ADDRESS SCHEMA KEYFILE ITEMS
         database-workload refresh|follow ADDRESS SCHEMA KEYFILE COUNT
         database-workload contend ADDRESS SCHEMA KEYFILE MACHINES COUNT
  """

func fail(_ message: String, status: Int32) -> Never {
  FileHandle.standardError.write(Data("\(message)\n".utf8))
  exit(status)
}

func number(_ text: String) -> Int {
  guard let number = Int(text), 0...10_000_000 ~= number else {
    fail("database-workload: \"\(text)\" is not a number from 0 to 10,000,000", status: 2)
  }
  return number
}

/// Runs the operation that the arguments name, or returns `nil` if they are invalid.
func measurement(_ arguments: [String]) async throws -> Timing? {
  guard arguments.count >= 4 else { return nil }
  let workload = Workload(
    address: arguments[1], schema: arguments[2], key: KeyFile(arguments[3]))
  let rest = arguments.dropFirst(4).map(number)
  switch (arguments[0], rest.count) {
  case ("create", 0): return try workload.create()
  case ("bulk", 2): return try workload.bulk(rest[0]..<rest[0] + rest[1])
  case ("get", 3) where rest[1] > 1:
    return try workload.get(of: rest[0], times: rest[1], seed: rest[2])
  case ("durable-put", 3) where rest[1] > 1:
    return try workload.durablePut(of: rest[0], times: rest[1], seed: rest[2])
  case ("put-threads", 4) where rest[3] > 0 && rest[1] > rest[3]:
    return try workload.durablePut(
      of: rest[0], times: rest[1], seed: rest[2], threads: rest[3])
  case ("put-list", 3): return try workload.putList(of: rest[0], times: rest[1], seed: rest[2])
  case ("list", 2): return try workload.list(rest[0], times: rest[1])
  case ("check", 1): return try workload.check(rest[0])
  case ("refresh", 1): return try await workload.refresh(times: rest[0])
  case ("follow", 1) where rest[0] > 0: return try await workload.follow(times: rest[0])
  case ("contend", 2) where rest[0] > 1 && rest[1] > 0:
    return try workload.contend(rest[0], times: rest[1])
  default: return nil
  }
}

do {
  guard let measurement = try await measurement(Array(CommandLine.arguments.dropFirst())) else {
    fail(usage, status: 2)
  }
  print(measurement.json)
} catch {
  fail("database-workload: \((error as? WorkloadError)?.message ?? "\(error)")", status: 1)
}
