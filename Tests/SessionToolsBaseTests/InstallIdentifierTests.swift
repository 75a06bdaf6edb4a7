import Foundation
import Glibc
import SessionToolsBase
import SessionToolsTestSupport
import Testing

@Suite struct `the identifier of an installation` {
  private func current(_ path: String) throws -> InstallIdentifier {
    try InstallIdentifier.current(application: "mail", stateDirectory: path)
  }

  private func file(in path: String) -> String { path + "/mail/install-identifier" }

  private func mode(of path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  private func write(_ text: String, mode: Int = 0o600, in path: String) throws {
    try FileManager.default.createDirectory(
      atPath: path + "/mail", withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(in: path)))
    try FileManager.default.setAttributes(
      [.posixPermissions: mode], ofItemAtPath: file(in: path))
  }

  @Test func `it is 32 hexadecimal digits and stays the same`() async throws {
    try await withTemporaryDirectory { path in
      let first = try current(path)
      #expect(first.rawValue.utf8.count == 32)
      #expect(first.rawValue.allSatisfy { "0123456789abcdef".contains($0) })
      #expect(try current(path) == first)
      #expect(
        try InstallIdentifier.current(application: "other", stateDirectory: path) != first)
    }
  }

  @Test func `only the user can access the file and directories, and nothing is left over`()
    async throws
  {
    try await withTemporaryDirectory { path in
      let state = path + "/a/state"
      let identifier = try current(state)
      #expect(try mode(of: file(in: state)) == 0o600)
      for directory in [path + "/a", state, state + "/mail"] {
        #expect(try mode(of: directory) == 0o700)
      }
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: state + "/mail")
          == ["install-identifier"])
      #expect(
        try Data(contentsOf: URL(fileURLWithPath: file(in: state)))
          == Data((identifier.rawValue + "\n").utf8))
    }
  }

  @Test func `an existing identifier is read, even from a directory others may read`() async throws
  {
    try await withTemporaryDirectory { path in
      let digits = String(repeating: "0f", count: 16)
      try write(digits + "\n", in: path)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755], ofItemAtPath: path + "/mail")
      #expect(try current(path).rawValue == digits)
    }
  }

  @Test(arguments: [
    "", "\n", String(repeating: "0f", count: 16), String(repeating: "0F", count: 16) + "\n",
    String(repeating: "0f", count: 15) + "\n", String(repeating: "0f", count: 17) + "\n",
    String(repeating: "0f", count: 16) + "\n\n", String(repeating: "0g", count: 16) + "\n",
    String(repeating: "0f", count: 16) + "\0",
  ])
  func `a damaged file is an error and is never renewed`(text: String) async throws {
    try await withTemporaryDirectory { path in
      try write(text, in: path)
      expectFailure(StoreError.corrupt) { try current(path) }
      #expect(try Data(contentsOf: URL(fileURLWithPath: file(in: path))) == Data(text.utf8))
    }
  }

  @Test(arguments: [0o644, 0o660, 0o606, 0o640])
  func `a file that others may read or write is refused`(mode: Int) async throws {
    try await withTemporaryDirectory { path in
      try write(String(repeating: "0f", count: 16) + "\n", mode: mode, in: path)
      let error = expectFailure(StoreError.unsafePermissions) { try current(path) }
      #expect(error?.reason.contains("0" + String(mode, radix: 8)) == true)
    }
  }

  @Test(arguments: [0o770, 0o707, 0o777])
  func `a directory that others may write in is refused`(mode: Int) async throws {
    try await withTemporaryDirectory { path in
      _ = try current(path)
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: path + "/mail")
      expectFailure(StoreError.unsafePermissions) { try current(path) }
    }
  }

  @Test func `a symbolic link in the file's place is not followed`() async throws {
    try await withTemporaryDirectory { path in
      _ = try InstallIdentifier.current(application: "other", stateDirectory: path)
      try FileManager.default.createDirectory(
        atPath: path + "/mail", withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
      for target in [path + "/other/install-identifier", path + "/nothing"] {
        try FileManager.default.createSymbolicLink(
          atPath: file(in: path), withDestinationPath: target)
        let error = expectFailure(StoreError.unsafePermissions) { try current(path) }
        #expect(error?.errno == ELOOP)
        try FileManager.default.removeItem(atPath: file(in: path))
      }
    }
  }

  @Test func `a directory or a pipe in the file's place is refused without hanging`() async throws {
    try await withTemporaryDirectory { path in
      try FileManager.default.createDirectory(
        atPath: file(in: path), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      expectFailure(StoreError.unsafePermissions) { try current(path) }
      try FileManager.default.removeItem(atPath: file(in: path))
      try #require(unsafe mkfifo(file(in: path), 0o600) == 0)
      expectFailure(StoreError.unsafePermissions) { try current(path) }
    }
  }

  @Test func `a file in the directory's place is an error`() async throws {
    try await withTemporaryDirectory { path in
      try Data().write(to: URL(fileURLWithPath: path + "/mail"))
      let error = expectFailure(StoreError.unavailable) { try current(path) }
      #expect(error?.errno == ENOTDIR)
    }
  }

  @Test(
    .enabled(if: geteuid() == 0, "only root may give files away"),
    arguments: ["/mail", "/mail/install-identifier"])
  func `a file or directory of another user is refused`(part: String) async throws {
    try await withTemporaryDirectory { path in
      _ = try current(path)
      try #require(unsafe chown(path + part, 65534, 65534) == 0)
      expectFailure(StoreError.unsafePermissions) { try current(path) }
    }
  }

  @Test(
    .enabled(if: geteuid() != 0, "root may write anywhere"))
  func `a directory that may not be written is access denied`() async throws {
    try await withTemporaryDirectory { path in
      try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: path)
      expectFailure(StoreError.accessDenied) { try current(path) }
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
    }
  }

  @Test(arguments: [
    "", ".", "..", "a/b", "/", "../mail", "a\0b", String(repeating: "a", count: 256),
  ])
  func `an application name that is not a directory's name is refused`(name: String) async throws {
    try await withTemporaryDirectory { path in
      expectFailure(StoreError.invalidName) {
        try InstallIdentifier.current(application: name, stateDirectory: path)
      }
      let made = try FileManager.default.contentsOfDirectory(atPath: path)
      #expect(made.isEmpty)
    }
  }

  @Test(arguments: ["...", ".mail", "com.example.mail", "a b", "é"])
  func `any other name is accepted`(name: String) async throws {
    try await withTemporaryDirectory { path in
      let made = try InstallIdentifier.current(application: name, stateDirectory: path)
      #expect(
        try InstallIdentifier.current(application: name, stateDirectory: path) == made)
    }
  }

  @Test func `the state directory is where the XDG specification says`() throws {
    func path(_ value: String?) throws -> String {
      var environment = ["HOME": "/home/ada"]
      environment["XDG_STATE_HOME"] = value
      return try UserDirectory.state.path(environment: environment)
    }
    #expect(try path("/var/state") == "/var/state")
    #expect(try path(nil) == "/home/ada/.local/state")
    #expect(try path("") == "/home/ada/.local/state")
    #expect(try path("state") == "/home/ada/.local/state", "relative paths are to be ignored")
    #expect(try path("~/state") == "/home/ada/.local/state")
    expectFailure(StoreError.unavailable) {
      try InstallIdentifier.current(application: "mail", stateDirectory: "state")
    }
  }

  @Test func `the environment determines the state directory`() async throws {
    try await withTemporaryDirectory { path in
      await #expect(processExitsWith: .success) { [path = path as String] in
        _ = unsafe setenv("XDG_STATE_HOME", path, 1)
        let made = try InstallIdentifier.current(application: "mail")
        let read = try InstallIdentifier.current(application: "mail", stateDirectory: path)
        precondition(made == read)
      }
      #expect(FileManager.default.fileExists(atPath: file(in: path)))
    }
  }
}

@Suite struct `racing for the identifier of an installation` {
  @Test func `many threads get the same one`() async throws {
    try await withTemporaryDirectory { path in
      for round in 0..<20 {
        let identifiers = await onThreads(16) { _ in
          try? InstallIdentifier.current(application: "app\(round)", stateDirectory: path + "/new")
        }
        #expect(identifiers.count == 16)
        #expect(Set(identifiers).count == 1 && identifiers[0] != nil)
        let made = try FileManager.default.contentsOfDirectory(atPath: path + "/new/app\(round)")
        #expect(made == ["install-identifier"])
      }
    }
  }

  @Test func `many processes get the same ones`() async throws {
    try await withTemporaryDirectory { path in
      let roundCount = 50
      let racers = try (0..<6).map { _ in try Racer(path, roundCount: roundCount) }
      for racer in racers { racer.waitUntilReady() }
      for racer in racers { try racer.start() }
      let answers = racers.map { $0.answers() }
      #expect(answers[0].count == roundCount)
      #expect(Set(answers[0]).count == roundCount)
      for answer in answers { #expect(answer == answers[0]) }
    }
  }
}

/// A process that requests identifiers when its input ends.
private final class Racer {
  private let process: Child
  private let input: FileHandle
  private let output: FileHandle

  init(_ path: String, roundCount: Int) throws {
    // The racer is built beside the tests.
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = URL(filePath: tests).deletingLastPathComponent().appending(
      path: "SessionToolsInstallRacer")
    (process, input, output) = try Child.piped(program.path, [path, "\(roundCount)"])
  }

  func waitUntilReady() {
    #expect(output.readData(ofLength: 6) == Data("ready\n".utf8))
  }

  func start() throws {
    try input.close()
  }

  func answers() -> [Substring] {
    let output = output.readDataToEndOfFile()
    #expect(process.waitUntilExit() == 0)
    return String(decoding: output, as: UTF8.self).split(separator: "\n")
  }
}
