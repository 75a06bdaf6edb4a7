import SessionToolsDatabaseServer
import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What doctor finds on a server that is not as it should be.
@Suite(.onOwnThread) struct DatabaseDoctorTests {
  private func doctor(_ stage: DatabaseTool) throws -> Tool.Outcome {
    try stage.tool.run("session-tools doctor $ADMIN", environment: stage.environment)
  }

  @Test func `a transaction that was forgotten is named with what ends it`() async throws {
    let stage = try await DatabaseTool(on: DatabaseServer(), database: "doctor")
    let input = try ClosedPipe()
    let psql = try Child(
      "/usr/bin/psql", ["-XAtq", stage.address(user: "postgres")],
      environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"],
      input: input.reader.fileDescriptor)
    defer { psql.kill() }
    try input.writer.write(contentsOf: Data("BEGIN; SELECT pg_current_xact_id();\n".utf8))
    try await wait(until: "doctor complains") {
      try doctor(stage).text.contains("note     transactions  one of postgres has been open for 1")
    }
    let text = try doctor(stage).text
    let process = try await stage.server.ask(
      "SELECT pid FROM pg_stat_activity WHERE backend_xid IS NOT NULL "
        + "AND backend_type = 'client backend'")
    #expect(text.contains("End it: SELECT pg_terminate_backend(\(process))"))
    try await stage.server.ask("SELECT pg_terminate_backend(\(process))")
    try await wait(until: "doctor is content") {
      try doctor(stage).text.contains("ok       transactions  none is open that has written")
    }
  }

  @Test func `a rotation that was interrupted is named with what ends it`() async throws {
    let stage = try await DatabaseTool(on: DatabaseServer.shared(), database: "interrupted")
    let made = try stage.tool.run(
      "session-tools init $ADMIN --schema interrupted --key-file key "
        + "&& session-tools init vault "
        + "&& for i in {1..3}; do printf $i | session-tools set vault --service s $i; done "
        + "&& session-tools migrate --from vault --to $ADMIN --to-schema interrupted "
        + "--to-key-file key",
      environment: stage.environment)
    try #require(made.status == 0, "\(made.complaint)")
    // A statement that has not ended keeps the rotation from its end.
    let input = try ClosedPipe()
    let psql = try Child(
      "/usr/bin/psql", ["-XAtq", stage.address(user: "postgres")],
      environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"],
      input: input.reader.fileDescriptor)
    defer { psql.kill() }
    try input.writer.write(
      contentsOf: Data("BEGIN; LOCK TABLE interrupted.item IN ROW EXCLUSIVE MODE;\n".utf8))
    try await wait(until: "the table is locked") {
      try await stage.server.ask(
        """
        SELECT count(*) > 0 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE d.datname = 'interrupted' AND l.mode = 'RowExclusiveLock'
        """) == "t"
    }
    let rotation = try stage.tool.run(
      "session-tools rotate $ADMIN --schema interrupted --key-file key --timeout 10",
      environment: stage.environment)
    #expect(rotation.status == 4)
    let check = "session-tools doctor $ADMIN --schema interrupted"
    let found = try stage.tool.run(check, environment: stage.environment).text
    #expect(found.contains("note     data key"))
    #expect(found.contains("session-tools rotate"))
    psql.kill()
    psql.waitUntilExit()
    let finished = try stage.tool.run(
      "session-tools rotate $ADMIN --schema interrupted --key-file key",
      environment: stage.environment)
    #expect(finished.status == 0)
    #expect(
      try stage.tool.run(check, environment: stage.environment).text.contains(
        "ok       data key      one"))
  }
}
