import Foundation
import SessionTools
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Name lookups that never end, beside requests that need no lookup.
@Suite(.onOwnThread) struct `a name lookup that never ends` {
  @Test func `delays no other request`() async throws {
    let directory = try TemporaryDirectory()
    let library = directory["hanging_lookup.so"]
    try await Program.run(
      "/usr/bin/cc",
      [
        "-shared", "-fPIC", "-o", library,
        "\(SourceDirectory.path)/Tests/Services/HangingLookup/hanging_lookup.c",
      ], environment: ["PATH": "/usr/bin:/bin"])
    _ = try SealedFileStore.create(
      at: directory["store"], key: KeyFile.create(at: directory["key"]))
    let (said, output) = (try ClosedPipe(), try ClosedPipe())
    let server = try Child(
      "/usr/bin/python3", ["\(SourceDirectory.path)/Tests/Services/CrowdedServer/server.py", "0"],
      environment: [:], output: said.writer.fileDescriptor)
    defer { server.kill() }
    let address = String(decoding: said.reader.availableData, as: UTF8.self)
      .trimmingCharacters(in: .newlines)
    let worker = try Child(
      BuildDirectory.program("SessionToolsSessionWorker"),
      ["lookup", directory["store"], directory["key"], address],
      environment: ["LD_PRELOAD": library], output: output.writer.fileDescriptor)
    try output.writer.close()
    let lines = String(decoding: try output.reader.readToEnd() ?? Data(), as: UTF8.self)
    #expect(lines == "gave up\nanswered\n")
    #expect(worker.waitUntilExit() == 0)
  }
}
