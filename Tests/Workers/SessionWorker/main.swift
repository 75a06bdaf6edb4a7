import Foundation
import SealedStore
import SessionToolsBase

// One of several processes that share a session, in the tests of sessions. It reports on its
// standard output, a line at a time, and takes its command from its arguments:
//
//   sign-in DIRECTORY KEYFILE URL          stores the server's credentials for a password
//   work DIRECTORY KEYFILE URL TASKS       sends requests until the server says that it is the last
//   renew DIRECTORY KEYFILE URL TASKS N    asks for valid credentials until N refreshes were made
//   touch DIRECTORY KEYFILE URL N          stores credentials N times, and reports when
//   refresh DIRECTORY KEYFILE URL MOMENT   refreshes once, and dies at a moment of the refresh
//   crowd DIRECTORY KEYFILE URL USERS      signs users in, and refreshes them all at once
//   crowd-old DIRECTORY KEYFILE URL USERS  the same with completions
//   crowd-end DIRECTORY KEYFILE URL USERS  the same until SIGTERM
//   road DIRECTORY KEYFILE URL [ACCOUNT]   signs in and refreshes once, for a count of system calls
//   reject DIRECTORY KEYFILE URL ACCOUNT   signs in to an account, which the server then rejects
//   lookup DIRECTORY KEYFILE URL           asks while another server's name is looked up

let arguments = Array(CommandLine.arguments.dropFirst())

func argument(_ position: Int) -> String {
  guard position < arguments.count else { fail("argument \(position) is missing") }
  return arguments[position]
}

func number(_ position: Int) -> Int {
  guard let number = Int(argument(position)) else { fail("\(argument(position)) is not a number") }
  return number
}

/// Writes a line without buffering, in one call, so that the reader knows what has happened.
func say(_ line: String) {
  FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

func fail(_ reason: String) -> Never {
  FileHandle.standardError.write(Data("SessionWorker: \(reason)\n".utf8))
  exit(2)
}

let store = try SealedFileStore.open(at: argument(1), key: KeyFile(argument(2)))
let server = AuthorizationClient(argument(3))
switch argument(0) {
case "sign-in":
  let session = try session(in: store, of: server)
  let credentials = try await server.signIn()
  try session.signIn(credentials)
  say("done")
case "work":
  try await work(session(in: store, of: server), tasks: number(4), on: server)
case "renew":
  try await renew(session(in: store, of: server, until: number(5)), tasks: number(4), on: server)
case "touch":
  try await touch(session(in: store, of: server), times: number(4))
case "refresh":
  try await refresh(dyingAt: Moment(argument(4)))
case "crowd", "crowd-old", "crowd-end":
  let crowd = try Crowd(number(4), in: store, at: argument(3))
  try crowd.signIn()
  switch argument(0) {
  case "crowd": try await crowd.ask()
  case "crowd-old": await crowd.askByCompletion()
  default: try await crowd.askUntilStopped()
  }
case "road": try await takeTheRoad()
case "reject": try await signInToBeRejected(as: AccountIdentifier(argument(4)))
case "lookup": try await askDuringLookup(at: argument(3))
default: fail("no such command: \(argument(0))")
}
