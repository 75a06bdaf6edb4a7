import SessionToolsBusTestSupport
import Foundation
import SessionTools
import SessionToolsTestSupport
import Testing

/// The article about moving secrets, whose commands are run as its reader would run them.
@Suite struct MovingArticleTests {
  static let article = ReadmeTests.file("Sources/SessionTools/SessionTools.docc/MovingSecrets.md")
  static let blocks = ReadmeTests.blocks("console", in: article).map(ConsoleBlock.init)

  @Test func `every block of code in the article consists of commands and their output`() {
    let fenceCount = Self.article.components(separatedBy: "\n```").count - 1
    #expect(Self.blocks.count > 0)
    #expect(Self.blocks.count * 2 == fenceCount)
    for block in Self.blocks { #expect(["laptop", "server"].contains(block.machine)) }
  }

  @Test func `the article has at most 180 lines`() {
    #expect(Self.article.components(separatedBy: "\n").count <= 181)
  }

  /// In a process of its own, because the environment determines a program's keychain.
  @Test func `every command in the article prints what the article shows`() async {
    await #expect(processExitsWith: .success) {
      let machines = try await Machines()
      machines.useHome(of: "laptop")
      try machines.keychain.storeItem(Login(token: "t0ken"), forIdentifier: "login")
      for block in MovingArticleTests.blocks {
        let shown = try machines.output(of: block)
        // Reported here, because a test in another process reports no values.
        for change in shown.difference(from: block.expected) {
          FileHandle.standardError.write(Data("\(change)\n".utf8))
        }
        #expect(shown == block.expected)
      }
      #expect(try machines.values(in: "server") == ["s3cret\n", "1234\n", "hunter2", "d3ploy"])
      machines.useHome(of: "server")
      #expect(try machines.keychain.item(forIdentifier: "login") == Login(token: "t0ken"))
      machines.stop()
    }
  }
}

/// What a program keeps in its keychain.
private struct Login: Codable, Equatable, Sendable {
  let token: String
}

/// A block of the article: commands on one machine, and what its terminal shows.
struct ConsoleBlock: Sendable {
  /// The machine, which the first prompt names: `laptop$ `.
  let machine: String
  /// The commands, one a line.
  let script: String
  /// All lines without prompts, as a terminal shows commands that bash reads from a file.
  let expected: [String]

  /// Reads a block.
  ///
  /// A line that begins with two spaces is the rest of the line before it.
  init(_ text: String) {
    let lines = text.replacingOccurrences(of: "\n  ", with: " ").components(separatedBy: "\n")
    let machine = String((lines.first ?? "").prefix { $0 != "$" })
    let prompt = "\(machine)$ "
    self.machine = machine
    script = lines.filter { $0.hasPrefix(prompt) }
      .map { "\($0.dropFirst(prompt.count))\n" }.joined()
    expected = lines.map { line in
      Self.normalized(line.hasPrefix(prompt) ? String(line.dropFirst(prompt.count)) : line)
    }
  }

  /// Replaces the parts of a text that differ from run to run by names.
  static func normalized(_ text: String) -> String {
    var text = text
    // The number in the name of a keychain's key may begin with zeros, which are left out.
    for (pattern, name) in [
      ("[0-9a-f]{24,32}", "[ID]"), ("st-store-[A-Za-z0-9_-]{27}", "[FINGERPRINT]"),
      ("[0-9]+ MiB, [0-9]+ pass(es)?", "[COST]"),
      ("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}", "[TIME]"),
    ] {
      text = text.replacingOccurrences(of: pattern, with: name, options: .regularExpression)
    }
    return text
  }
}

/// The two machines of the article, which are two home directories, and the laptop's keyring.
private struct Machines {
  struct Failure: Error {
    let line: String
    let status: Int32
    let complaint: String
  }

  private let tool: Tool
  private let bus: PrivateBus
  private let keyring: Daemon

  /// Starts the keyring, and stores what the reader has before the article begins.
  init() async throws {
    tool = try Tool()
    bus = try await PrivateBus()
    let program = "/usr/bin/gnome-keyring-daemon"
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw PrivateBus.MissingProgram(path: program)
    }
    keyring = try Daemon(
      program, ["--foreground", "--components=secrets", "--unlock"], input: "pw",
      environment: bus.environment)
    try await bus.waitForOwner(of: "org.freedesktop.secrets")
    try writePrograms()
    for line in [
      "mkdir server",
      "gpg --batch --quiet --passphrase '' --quick-generate-key ada",
      "pass init ada",
      "echo s3cret | pass insert --multiline web/example.com",
      "echo 1234 | pass insert --multiline mail",
      """
      /usr/bin/python3 -c 'import keyring
      keyring.set_password("backup", "ada", "hunter2")
      keyring.set_password("wiki", "ada", "w1ki")'
      """,
      "printf hello | session-tools set secret-service: --service com.example.chat login",
      """
      printf '%s\\n' '{"service":"backup","identifier":"ada","value":"other"}' \
        '{"service":"ci","identifier":"deploy","value":"d3ploy"}' > ~/items.jsonl
      """,
      "echo 'a long passphrase' > ~/passphrase && chmod 600 ~/passphrase",
    ] {
      try run(line, on: "laptop")
    }
  }

  /// Writes a `gpg` at which a person seems to press Ctrl-C, once.
  ///
  /// A migration reads each file a first time to plan, and then to copy: there it is stopped.
  private func writePrograms() throws {
    let program = """
      #!/bin/bash
      calls=$0.$PPID
      if grep -qsxF -- "$*" "$calls" && [ ! -e "$0.interrupted" ]; then
        touch "$0.interrupted"
        printf '^C\\n' > /dev/tty
        kill -INT "$PPID"
      fi
      echo "$*" >> "$calls"
      exec /usr/bin/gpg "$@"

      """
    let files = FileManager.default
    try files.createDirectory(atPath: tool["interrupting"], withIntermediateDirectories: false)
    try program.write(toFile: tool["interrupting/gpg"], atomically: false, encoding: .utf8)
    try files.setAttributes(
      [.posixPermissions: 0o700], ofItemAtPath: tool["interrupting/gpg"])
  }

  private func home(of machine: String) -> String {
    tool[machine == "laptop" ? "home" : machine]
  }

  private func environment(of machine: String) -> [String: String] {
    let own = tool.environment
    // The server has no desktop.
    let desktop = machine == "laptop" ? bus.environment.filter { own[$0.key] == nil } : [:]
    let home = home(of: machine)
    return desktop.merging(["HOME": home, "XDG_DATA_HOME": "\(home)/.local/share"]) { $1 }
  }

  /// Runs a line that must succeed.
  @discardableResult
  private func run(_ line: String, on machine: String) throws -> String {
    let outcome = try tool.run(line, environment: environment(of: machine))
    guard outcome.status == 0 else {
      throw Failure(line: line, status: outcome.status, complaint: outcome.complaint)
    }
    return outcome.text
  }

  /// Runs the commands of a block on a terminal, and returns all lines that it shows.
  func output(of block: ConsoleBlock) throws -> [String] {
    // The reader copies the archives to the server.
    if block.machine == "server" { try run("cp -a ~/*.archive ~/passphrase server", on: "laptop") }
    try block.script.write(toFile: tool["block"], atomically: false, encoding: .utf8)
    var environment = environment(of: block.machine)
    environment["PATH"] = "\(tool["interrupting"]):\(tool.environment["PATH"] ?? "")"
    // With -v, bash shows each line before it runs it.
    let outcome = try tool.run(
      "block=$PWD/block; cd && script -qc \"bash -v '$block'\" /dev/null",
      environment: environment)
    var text = outcome.text
    // Progress, which is shown when something takes long.
    text = text.replacingOccurrences(
      of: "\r[^\r\n]*\u{1b}\\[K", with: "", options: .regularExpression)
    text = text.replacingOccurrences(of: "\r\n", with: "\n")
    text = text.replacingOccurrences(of: home(of: block.machine), with: "/home/ada")
    #expect(text.hasSuffix("\n"), "\(outcome.complaint)")
    return Array(ConsoleBlock.normalized(text).components(separatedBy: "\n").dropLast())
  }

  /// Returns values that came from `pass`, from Python's keyring and from JSON Lines.
  func values(in machine: String) throws -> [String] {
    try ["pass web/example.com", "pass mail", "backup ada", "ci deploy"].map { item in
      try run("session-tools get ~/vault --service \(item)", on: machine)
    }
  }

  /// Makes a machine's home and keyring those of this process.
  func useHome(of machine: String) {
    unsafe unsetenv("DBUS_SESSION_BUS_ADDRESS")
    unsafe setenv("XDG_RUNTIME_DIR", "/nonexistent", 1)
    for (name, value) in environment(of: machine) { unsafe setenv(name, value, 1) }
  }

  /// The keychain of a program on the machine whose home this process uses.
  var keychain: KeychainStorageContainer<Login> {
    KeychainStorageContainer(config: KeychainContainerConfig(keychainName: "com.example.mail"))
  }

  /// Ends what the commands left running.
  func stop() {
    // If this fails, the agent ends when it notices that its directory is gone.
    _ = try? run("gpgconf --kill gpg-agent", on: "laptop")
    keyring.kill()
    bus.kill()
  }
}
