import Foundation
import SessionToolsBase

/// Sends requests from several tasks until the server says that it was the last, and reports how
/// many requests this process made.
func work(
  _ session: UserSession<Credentials>, tasks: Int, on server: AuthorizationClient
) async throws {
  let requestCount = try await withThrowingTaskGroup(of: Int.self) { group in
    for _ in 0..<tasks {
      group.addTask { try await workUntilLast(session, on: server) }
    }
    return try await group.reduce(0, +)
  }
  say("done \(requestCount)")
}

private func workUntilLast(
  _ session: UserSession<Credentials>, on server: AuthorizationClient
) async throws -> Int {
  var count = 0
  while true {
    let isLast = try await session.withValidItem { credentials in
      try await server.isLast(credentials)
    } isRejected: {
      $0 == nil
    }
    count += 1
    if isLast == true { return count }
  }
}

/// Asks for valid credentials from several tasks until the server says that these are the last, and
/// reports how often.
func renew(
  _ session: UserSession<Credentials>, tasks: Int, on server: AuthorizationClient
) async throws {
  let count = try await withThrowingTaskGroup(of: Int.self) { group in
    for _ in 0..<tasks {
      group.addTask { try await renewUntilLast(session, on: server) }
    }
    return try await group.reduce(0, +)
  }
  say("done \(count)")
}

private func renewUntilLast(
  _ session: UserSession<Credentials>, on server: AuthorizationClient
) async throws -> Int {
  for count in 1... {
    let credentials = try await session.validItem()
    guard let isLast = try await server.isLast(credentials) else { fail("revoked") }
    if isLast { return count }
  }
  return 0
}

/// Stores credentials a number of times, each after a line of input, and reports when each was
/// stored, in seconds since 1970.
func touch(_ session: UserSession<Credentials>, times: Int) async throws {
  for sequence in 1...times {
    guard readLine() != nil else { return }
    try await session.save(Credentials(access: "a", refresh: "r", sequence: sequence))
    say("\(Date().timeIntervalSince1970)")
  }
}
