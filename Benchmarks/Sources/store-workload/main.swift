import Foundation
import Items
import SealedStore
import SessionToolsBase

let usage = """
  usage: store-workload create DIRECTORY KEYFILE
         store-workload durable-put|bulk|remove DIRECTORY KEYFILE FIRST COUNT
         store-workload put-threads DIRECTORY KEYFILE FIRST COUNT THREADS
         store-workload list|compact DIRECTORY KEYFILE ITEMS
         store-workload list-again DIRECTORY KEYFILE ITEMS COUNT
         store-workload get DIRECTORY KEYFILE ITEMS COUNT
         store-workload open DIRECTORY KEYFILE ITEMS EMPTY-DIRECTORY
         store-workload check DIRECTORY KEYFILE ITEMS
  """

func fail(_ message: String, status: Int32) -> Never {
  FileHandle.standardError.write(Data("\(message)\n".utf8))
  exit(status)
}

func number(_ text: String) -> Int {
  guard let number = Int(text), 0...10_000_000 ~= number else {
    fail("store-workload: \"\(text)\" is not a number from 0 to 10,000,000", status: 2)
  }
  return number
}

/// Runs the operation that the arguments name, or returns `nil` if they are invalid.
func measurement(_ arguments: [String]) throws -> Timing? {
  guard arguments.count >= 3 else { return nil }
  let workload = Workload(path: arguments[1], key: KeyFile(arguments[2]))
  let rest = Array(arguments.dropFirst(3))
  switch (arguments[0], rest.count) {
  case ("create", 0):
    return try workload.create()
  case ("list", 1):
    return try workload.list(number(rest[0]))
  case ("list-again", 2):
    return try workload.list(number(rest[0]), again: number(rest[1]))
  case ("compact", 1):
    return try workload.compact(number(rest[0]))
  case ("put-threads", 3) where number(rest[1]) > 0 && number(rest[2]) > 0:
    return try workload.durablePut(
      number(rest[0])..<number(rest[0]) + number(rest[1]), threads: number(rest[2]))
  case ("remove", 2) where number(rest[1]) > 1:
    return try workload.remove(number(rest[0])..<number(rest[0]) + number(rest[1]))
  case ("durable-put", 2) where number(rest[1]) > 1:
    return try workload.durablePut(number(rest[0])..<number(rest[0]) + number(rest[1]))
  case ("bulk", 2):
    return try workload.bulk(number(rest[0])..<number(rest[0]) + number(rest[1]))
  case ("get", 2) where number(rest[0]) > 0:
    return try workload.get(of: number(rest[0]), times: number(rest[1]))
  case ("open", 2) where number(rest[0]) > 0:
    return try workload.open(with: number(rest[0]), after: rest[1])
  case ("check", 1):
    return try workload.check(number(rest[0]))
  default:
    return nil
  }
}

do {
  guard let measurement = try measurement(Array(CommandLine.arguments.dropFirst())) else {
    fail(usage, status: 2)
  }
  print(measurement.json)
} catch {
  fail("store-workload: \((error as? WorkloadError)?.message ?? "\(error)")", status: 1)
}
