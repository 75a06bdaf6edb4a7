import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase

// One process of a fleet, in the tests of the database store. It reports what it did on its
// standard output, a line at a time, and takes its orders from its arguments and from lines on its
// standard input. A STORE is five arguments: the address of the database, the schema, the key file,
// and in milliseconds the longest time of an operation and the duration of leases.
//
//   memory SEED                  has keys in its memory
//   rotate STORE                 seals everything again, and reports how far it is
//   fill STORE CLIENT            puts items of its own, until its input ends
//   read STORE                   reads everything, as a migration does
//   hold STORE                   has exclusive access to a name, and puts numbers from its input
//   count STORE                  counts up until its input ends, with exclusive access
//   put STORE                    puts increasing numbers until its input ends
//   history STORE CLIENT OUTPUT  makes random operations until its input ends
//   judge STORE ROUNDS           reads items again and again, and reports what was not right
//   ask ADDRESS TIME             connects and runs a statement in so many milliseconds
//   exit STORE                   exits while its threads open and close connections
//   renew STORE URL FIRST COUNT STOP
//                                asks for a valid token of users, and stops at a moment

let arguments = Array(CommandLine.arguments.dropFirst())

func argument(_ position: Int) -> String {
  guard position < arguments.count else { fail("argument \(position) is missing") }
  return arguments[position]
}

func number(_ position: Int) -> Int {
  guard let number = Int(argument(position)) else { fail("\(argument(position)) is not a number") }
  return number
}

/// Prints a line at once, with one call, so that a test that reads it knows that it happened.
func say(_ line: String) {
  FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

func fail(_ reason: String) -> Never {
  say("failed: \(reason)")
  exit(2)
}

/// Opens the store of the arguments behind the first one.
func openStore() throws -> SealedDatabaseStore {
  let options = SealedDatabaseStore.Options(
    schema: argument(2), allowsPlaintext: true, maximumConnectionCount: 2,
    operationTimeout: .milliseconds(number(4)))
  var environment = DatabaseEnvironment()
  environment.leaseDuration = .milliseconds(number(5))
  let key = KeyFile(argument(3))
  // To open it may take longer on a busy machine than an operation may take afterwards.
  for _ in 0..<100 {
    do throws(StoreError) {
      return try SealedDatabaseStore.open(
        argument(1), key: key, options: options, environment: environment)
    } catch {
      guard error.code == .timedOut || error.code == .unavailable else { throw error }
    }
  }
  fail("the store cannot be opened")
}

do {
  switch argument(0) {
  case "memory": try showMemory()
  case "rotate": try rotate()
  case "fill": try fill()
  case "read": try readEverything()
  case "hold": try hold()
  case "count": try countUntilInputEnds()
  case "put": try putUntilInputEnds()
  case "history": try recordHistory()
  case "judge": try judge()
  case "ask": try askOnce()
  case "exit": exitWhileConnecting()
  case "renew": try await renew()
  default: fail("there is no command \(argument(0))")
  }
} catch {
  fail("\(error)")
}
