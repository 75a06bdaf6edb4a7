import Foundation
import LinuxAuthentication
import SessionAuthentication
import SessionToolsTestSupport
import Testing

/// Callers that do not wait for PAM.
@Suite(.serialized) struct PAMInterruptionTests {
  let services: PAMServices

  init() throws {
    services = try PAMServices()
    try services.addMatrix()
  }

  /// Returns the number of threads that run PAM in this process, or fewer: the kernel's list can
  /// miss threads while others end.
  private static func threadCount() -> Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.filter { task in
      let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
      return name == "session-pam\n"
    }.count
  }

  @Test func `cancelling while the person is asked returns, and takes the question back`()
    async throws
  {
    let prompt = ScriptedPrompt(.never)
    let authenticator = services.authenticator("matrix", prompt)
    let task = Task { await Evaluation.of(authenticator) }
    try await wait(until: "the person is asked") { prompt.questions.count == 1 }
    try await wait(until: "its thread is listed") { Self.threadCount() >= 1 }
    task.cancel()
    #expect(await task.value.code == .appCancel)
    try await wait(until: "the question is taken back") { prompt.takenBackCount == 1 }
    try await wait(until: "the thread has ended") { Self.threadCount() == 0 }
  }

  @Test func `an evaluation that was cancelled before it began asks no question`() async throws {
    let prompt = ScriptedPrompt(.text("right"))
    let authenticator = services.authenticator("matrix", prompt)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await Evaluation.of(authenticator)
    }
    task.cancel()
    #expect(await task.value.code == .appCancel)
    #expect(prompt.questions.isEmpty)
  }

  @Test func `a person who does not answer in time is not waited for`() async throws {
    var prompt = ScriptedPrompt(.never)
    // On a busy machine the time may end before the question is asked.
    for milliseconds in [300, 3000, 30_000] where prompt.questions.isEmpty {
      prompt = ScriptedPrompt(.never)
      let authenticator = services.authenticator("matrix", prompt)
      let outcome = await Evaluation.of(authenticator, timeout: .milliseconds(milliseconds))
      #expect(outcome.code == .timedOut)
    }
    try await wait(until: "the question is taken back") { [prompt] in prompt.takenBackCount == 1 }
    try await wait(until: "the thread has ended") { Self.threadCount() == 0 }
  }

  @Test func `a module that hangs delays no caller, and its thread ends with it`() async throws {
    // The module creates a file to show that it runs, and waits until the pipe is opened.
    let pipe = services["pipe"]
    try #require(unsafe mkfifo(pipe, 0o600) == 0)
    try services.add(
      "hanging", "auth required pam_exec.so quiet /bin/sh \(services["script"])",
      "auth required \(try PAMServices.module("pam_wrapper/pam_matrix.so"))",
      "account required pam_permit.so")
    try Data("touch '\(services["running"])'; exec cat '\(pipe)'".utf8)
      .write(to: URL(filePath: services["script"]))
    let prompt = ScriptedPrompt(.text("right"))
    let authenticator = services.authenticator("hanging", prompt)
    let task = Task { await Evaluation.of(authenticator) }
    try await wait(until: "the module runs") {
      FileManager.default.fileExists(atPath: services["running"])
    }
    task.cancel()
    #expect(await task.value.code == .appCancel)
    let late = await Evaluation.of(authenticator, timeout: .milliseconds(100))
    #expect(late.code == .timedOut)
    try await wait(until: "its threads are listed") { Self.threadCount() >= 1 }
    try await wait(until: "both threads have ended") {
      // Each `cat` reads until its writer closes; a later `cat` needs another writer.
      let writer = unsafe open(pipe, O_WRONLY | O_NONBLOCK)
      if writer >= 0 { close(writer) }
      return Self.threadCount() == 0
    }
    #expect(prompt.questions.isEmpty)
  }

  @Test func `forty people at the same time each get their own answer, and no thread is left`()
    async throws
  {
    let outcomes = await withTaskGroup(of: (Int, Evaluation).self) { group in
      for number in 0..<40 {
        let prompt = ScriptedPrompt(
          [.text("right"), .text("wrong"), .cancelled, .fallback][number % 4])
        let authenticator = services.authenticator("matrix", prompt)
        group.addTask { (number, await Evaluation.of(authenticator)) }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    for (number, outcome) in outcomes {
      switch number % 4 {
      case 0: #expect(outcome == .authenticated(.passcode))
      case 1: #expect(outcome.code == .failed)
      case 2: #expect(outcome.code == .userCancel)
      default: #expect(outcome.code == .userFallback)
      }
    }
    #expect(outcomes.count == 40)
    try await wait(until: "all threads have ended") { Self.threadCount() == 0 }
  }
}
