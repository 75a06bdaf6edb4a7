import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Credentials of systemd from a store.
@Suite(.onOwnThread) struct CredentialServerTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    let made = try tool.run(
      """
      session-tools init store --key-file key
      printf 'a\\0b' | session-tools set store --key-file key --service mail.service token
      head -c 1000000 /dev/zero | session-tools set store --key-file key --service shared large
      """)
    try #require(made.status == 0, "\(made.complaint)")
  }

  /// Asks the tool, which this starts as systemd would, and returns what each connection got.
  private func ask(
    _ names: String..., user: uid_t = geteuid(), store: String = "store", service: String? = nil
  ) throws -> (answers: [String], complaint: String) {
    let service = service.map { "--service \($0)" } ?? ""
    let outcome = try tool.run(
      "python3 '\(SourceDirectory.path)/Tests/Services/CredentialClient/client.py' \(user) "
        + names.map { "'\($0)' " }.joined()
        + "-- session-tools credential-server \(store) --key-file key --idle 0.2 \(service)")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    return (outcome.text.split(separator: "\n").map(String.init), outcome.complaint)
  }

  @Test func aUnitGetsItsOwnItems() throws {
    let asked = try ask("r/unit/mail.service/token", "s/unit/other.service/token")
    #expect(asked.answers == [#"b'a\x00b'"#, "1048577 bytes"])
    #expect(
      asked.complaint
        == "session-tools: other.service, credential token: store: there is no token of "
        + "other.service\n")
  }

  @Test func aServiceCanBeSharedByAllUnits() throws {
    let asked = try ask("r/unit/mail.service/large", "s/unit/x.service/large", service: "shared")
    #expect(asked.answers == ["1000000 bytes", "1000000 bytes"])
    #expect(asked.complaint.isEmpty)
  }

  @Test func aStoreThatDoesNotOpenFailsTheUnit() throws {
    let asked = try ask("r/unit/mail.service/token", "s/unit/mail.service/token", store: "nothing")
    #expect(asked.answers == ["1048577 bytes", "1048577 bytes"])
    #expect(asked.complaint.contains("mail.service, credential token: nothing: there is no store"))
  }

  /// The end of the connection would be an empty secret for the unit.
  @Test func aServerThatIsStoppedLeavesTheQuestionToTheNextOne() throws {
    let outcome = try tool.run(
      "python3 '\(SourceDirectory.path)/Tests/Services/CredentialClient/ended.py' "
        + "session-tools credential-server DATABASE --key-file key")
    #expect(outcome.text == "waits\n", "\(outcome.complaint)")
  }

  @Test(arguments: ["", "r", "r/unit/mail.service", "r/unit//token", "r/unit/a/b/token", "/x/a/b"])
  func onlySystemdsNamesAreAnswered(_ name: String) throws {
    let asked = try ask(name)
    #expect(asked.answers == ["b''"])
    #expect(asked.complaint == "session-tools: a connection that is not systemd's was closed\n")
  }

  @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
  func anotherUserIsNotAnswered() throws {
    let asked = try ask("r/unit/mail.service/token", user: 65534)
    #expect(asked.answers == ["b''"])
    #expect(asked.complaint == "session-tools: a connection by another user was closed\n")
  }

  @Test func withoutASocketItSaysWhatStartsIt() throws {
    let outcome = try tool.run(
      "LISTEN_PID=1 LISTEN_FDS=1 session-tools credential-server store --key-file key")
    #expect(outcome.status == 64)
    #expect(outcome.complaint.contains("systemd passed no socket"))
  }

  // In a mount namespace of its own, where it does not take this machine for one without systemd.
  @Test(.enabled(if: geteuid() == 0, "only root can start another systemd"))
  func systemdItselfStartsTheInstalledUnits() throws {
    let units = tool["units"]
    try FileManager.default.createDirectory(
      atPath: "\(units)/session-tools-credentials.service.d", withIntermediateDirectories: true)
    for name in ["session-tools-credentials.socket", "session-tools-credentials.service"] {
      try installed(name).write(toFile: "\(units)/\(name)", atomically: false, encoding: .utf8)
    }
    try unit("mail.service")
      .write(toFile: "\(units)/mail.service", atomically: false, encoding: .utf8)
    try unit("mail.service").replacing("token:", with: "missing:")
      .write(toFile: "\(units)/other.service", atomically: false, encoding: .utf8)
    try "[Service]\nStandardError=append:\(tool["complaints"])\n"
      .write(
        toFile: "\(units)/session-tools-credentials.service.d/log.conf", atomically: false,
        encoding: .utf8)
    let outcome = try tool.run(
      """
      unshare --mount --propagation private \
      '\(SourceDirectory.path)/Tests/Services/UserManager/with-manager' '\(units)' '
        systemctl --user start session-tools-credentials.socket || exit
        systemctl --user start mail.service || exit
        cp "\(tool["credentials"])/token" got
        systemctl --user start other.service
        systemctl --user show --property ExecMainStatus other.service'
      """)
    #expect(outcome.text == "ExecMainStatus=243\n", "\(outcome.complaint)")
    #expect(FileManager.default.contents(atPath: tool["got"]) == Data("a\0b".utf8))
    let complaints = try String(contentsOfFile: tool["complaints"], encoding: .utf8)
    #expect(complaints.contains("other.service, credential missing: \(tool["store"]): there is no"))
  }

  /// Returns a unit that is installed with the tool, with this test's paths in it.
  private func installed(_ name: String) throws -> String {
    let path = "\(SourceDirectory.path)/Sources/session-tools/Installation/system/\(name)"
    return try String(contentsOfFile: path, encoding: .utf8)
      .replacing("@PREFIX@/bin/session-tools", with: Tool.program)
      .replacing("/var/lib/session-tools/store", with: tool["store"])
      .replacing("/run/session-tools/credentials.sock", with: tool["socket"])
      // Not encrypted: a key to decrypt it with would have to be made on this machine.
      .replacing(
        "LoadCredentialEncrypted=session-tools-key",
        with: "LoadCredential=session-tools-key:\(tool["key"])"
      )
  }

  /// Returns a unit of the article with this test's paths in it.
  private func unit(_ name: String) throws -> String {
    try OtherProgramsArticle.file("/etc/systemd/system/\(name)")
      .replacing("/run/session-tools/credentials.sock", with: tool["socket"])
      .replacing(
        "/usr/local/bin/mail-sync",
        with: "/bin/cp -r ${CREDENTIALS_DIRECTORY} \(tool["credentials"])")
  }
}
