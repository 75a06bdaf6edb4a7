import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The agent among other processes: hostile peers, other users, and readers of its memory.
@Suite(.onOwnThread) struct AgentPeerTests {
  private static let isRoot = geteuid() == 0
  private static let asOther = "setpriv --reuid=65534 --regid=65534 --clear-groups"
  /// A request for the key of a store that does not exist: `get` and 16 bytes.
  private static let request = "b'\\x12\\x00\\x01\\x01' + bytes(16)"

  private let stage: AgentStage

  init() throws {
    stage = try AgentStage()
  }

  private func unlock() throws {
    try stage.makeStore()
    try #require(try stage.unlock().status == 0)
  }

  @Test(arguments: [
    // Well-formed, to show that answers arrive: no key.
    ("\(request)", "02000182"),
    // Another version, an unknown kind, and bodies of the wrong length.
    ("b'\\x02\\x00\\x02\\x04'", "02000184"), ("b'\\x02\\x00\\x01\\x63'", "02000184"),
    ("b'\\x02\\x00\\x01\\x02'", "02000184"), ("b'\\x03\\x00\\x01\\x04\\x00'", "02000184"),
    ("b'\\x12\\x00\\x01\\x02' + bytes(16)", "02000184"),
    // No message has these lengths: the connection is closed.
    ("b'\\x00\\x00'", ""), ("b'\\x01\\x00\\x01'", ""), ("b'\\x37\\x00\\x01\\x02' + bytes(53)", ""),
    ("b'\\xff\\xff\\x01\\x02' + bytes(60000)", ""),
    // A part of a message.
    ("b'\\x12'", ""), ("b'\\x12\\x00\\x01\\x01' + bytes(15)", ""),
  ])
  func whatIsNotARequestIsRefused(_ sent: String, answer: String) throws {
    try unlock()
    // A peer that closes with data unread is reported as a reset.
    let outcome = try stage.connect(
      """
      try:
          s.sendall(\(sent))
          s.shutdown(socket.SHUT_WR)
          print(s.recv(100).hex())
      except (ConnectionResetError, BrokenPipeError):
          print()
      """)
    #expect(outcome.text == answer + "\n", "\(outcome.complaint)")
    #expect(try stage.opens())
  }

  @Test func aRequestThatArrivesByteByByteIsAnswered() throws {
    try unlock()
    let outcome = try stage.connect(
      """
      for byte in \(Self.request):
          s.sendall(bytes([byte]))
      print(s.recv(100).hex())
      """)
    #expect(outcome.text == "02000182\n", "\(outcome.complaint)")
  }

  @Test func silentPeersKeepNoOneWaiting() throws {
    try unlock()
    let outcome = try stage.connect(
      """
      silent = [connected() for _ in range(200)]
      for peer in silent[::2]:
          try:
              peer.sendall(b'\\x12')
          except (ConnectionResetError, BrokenPipeError):
              pass
      print(subprocess.run(["session-tools", "list", "store"]).returncode)
      """)
    #expect(outcome.text == "0\n", "\(outcome.complaint)")
  }

  /// As an agent does that has too many connections.
  @Test func aProgramWhoseConnectionIsClosedConnectsAgain() throws {
    try unlock()
    let outcome = try stage.connect(
      """
      import threading
      for directory in ["other", "other/session-tools"]:
          os.mkdir(directory, 0o700)
      full = socket.socket(socket.AF_UNIX)
      full.bind("other/session-tools/agent.sock")
      full.listen()
      environment = os.environ | {"XDG_RUNTIME_DIR": os.path.abspath("other")}
      def serve():
          for _ in range(3):
              full.accept()[0].close()
          while True:
              peer, agent = full.accept()[0], connected()
              agent.sendall(peer.recv(100))
              peer.sendall(agent.recv(100))
              peer.close()
      threading.Thread(target=serve, daemon=True).start()
      print(subprocess.run(["session-tools", "list", "store"], env=environment).returncode)
      """)
    #expect(outcome.text == "0\n", "\(outcome.complaint)")
  }

  @Test func randomBytesDoNotEndTheAgent() throws {
    try unlock()
    let process = try stage.process()
    let outcome = try stage.connect(
      """
      import random
      random.seed(1)
      for number in range(300):
          peer = connected()
          length = random.randrange(70)
          try:
              peer.sendall(struct.pack("<HB", length, 1) + random.randbytes(length))
              peer.shutdown(socket.SHUT_WR)
              peer.recv(100)
          except (ConnectionResetError, BrokenPipeError):
              pass
      """)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    #expect(try stage.process() == process)
  }

  @Test func anAgentThatDoesNotAnswerGivesWay() throws {
    try unlock()
    let process = try stage.process()
    kill(process, SIGSTOP)
    defer { kill(process, SIGKILL) }
    let outcome = try stage.run("session-tools list store")
    #expect(outcome.status == 4)
    #expect(outcome.complaint.contains("the agent does not answer"))
    #expect(outcome.complaint.contains("no key was given"))
    #expect(try stage.run("session-tools lock").status == 4)
    #expect(
      try stage.run("printf geheim | session-tools list store --passphrase-fd 0").status == 0)
  }

  @Test func onlyItsUserCanReachTheSocket() throws {
    try unlock()
    let modes = try stage.run("stat -c %a run/session-tools run/session-tools/agent.sock").text
    #expect(modes == "700\n600\n")
    try stage.run("chmod 755 run/session-tools")
    let outcome = try stage.unlock()
    #expect(outcome.status == 8)
    #expect(outcome.complaint.contains("run/session-tools: others may read or write it"))
  }

  @Test(.enabled(if: isRoot, "only root can act as another user"))
  func aPeerOfAnotherUserIsNotAnswered() throws {
    try unlock()
    // As if the modes did not keep it away.
    try stage.run("chmod 711 . run run/session-tools; chmod 666 run/session-tools/agent.sock")
    let lines = """
      try:
          s.sendall(\(Self.request))
          print(s.recv(100).hex())
      except (ConnectionResetError, BrokenPipeError):
          print()
      """
    let own = try stage.connect(lines)
    #expect(own.text == "02000182\n", "\(own.complaint)")
    let other = try stage.connect(lines, by: Self.asOther)
    #expect(other.text == "\n", "\(other.complaint)")
  }

  // Root may look into a process that shuts out its own user.
  @Test(.enabled(if: isRoot && !isSanitized, "only root may look into the agent's memory"))
  func keysAreOnlyInLockedMemoryAndGoneOnceTheyAreForgotten() throws {
    var keys: [String: [UInt8]] = [:]
    for name in ["one", "two"] {
      #expect(
        try stage.run(
          "session-tools init \(name) --key-file \(name).key; "
            + "session-tools unlock \(name) --key-file \(name).key"
        ).status == 0)
      keys[name] = Array(try Data(contentsOf: URL(filePath: stage.tool["\(name).key"])))
      // The key that was asked for has left nothing behind either.
      #expect(try stage.opens(name))
    }
    let memory = ProcessMemory(of: try stage.process())
    let found = try memory.places(of: keys)
    for name in ["one", "two"] {
      #expect(found[name]?.count == 1)
      #expect(found[name]?.allSatisfy { $0.isLocked && $0.isLeftOutOfDumps } == true)
    }
    try stage.run("session-tools lock one")
    #expect(Set(try memory.places(of: keys).keys) == ["two"])
  }

  /// As in `ToolMemoryTests`: what must not be dumped belongs to root in `/proc`.
  @Test func theAgentsMemoryIsClosedToOtherProcessesOfItsUser() throws {
    let asUser = Self.isRoot ? Self.asOther : ""
    try FileManager.default.copyItem(
      atPath: Tool.program, toPath: stage.tool["session-tools"])
    try stage.run("chmod 711 .; mkdir own; chmod 700 own")
    if Self.isRoot { try stage.run("chown 65534:65534 own") }
    let program = stage.tool["session-tools"]
    let own = stage.tool["own"]
    let outcome = try stage.run(
      """
      export HOME=\(own) XDG_DATA_HOME=\(own)/data XDG_RUNTIME_DIR=\(own)/run
      cd own && \(asUser) bash -c '
        mkdir -m 700 run &&
        \(program) init store --key-file key && \(program) unlock store --key-file key &&
        rm key && \(program) list store'
      """)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let process = try stage.run(
      """
      for process in /proc/[0-9]*; do
        words=$(tr '\\0' ' ' < $process/cmdline)
        if [[ $words == '\(program) agent ' ]]; then echo ${process#/proc/}; fi
      done
      """
    ).text.dropLast()
    let user = Self.isRoot ? 65534 : geteuid()
    #expect(try stage.run("stat -c %u /proc/\(process)").text == "\(user)\n")
    #expect(try stage.run("stat -c %u /proc/\(process)/mem").text == "0\n")
    #expect(
      try stage.run("cat /proc/\(process)/limits").text
        .contains(#/Max core file size +0 +0 /#))
  }
}
