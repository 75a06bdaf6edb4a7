#if GTKScenes
import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Windows that come and go, with and without a question.
@Suite(.serialized, .onOwnThread) struct WindowLifeTests {
  @Test func `a question ends with its window, and the gate outlives all windows`() async throws {
    let desktop = try await Desktop(.x11)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("window red")
    try await worker.do("window yellow")
    try await worker.do("again red")
    #expect(worker.lines.contains("refused alreadyConnected"))
    // Another window cannot take its scene, and end it.
    try await worker.do("window other red")
    #expect(worker.lines.contains("refused sceneInUse"))
    try await worker.do("destroy other")
    for window in ["yellow", "red"] {
      try await worker.do("ask \(window)")
      try await worker.waitForQuestion(in: window)
      try await worker.do("destroy \(window)")
      try await worker.wait(for: "asked appCancel")
    }
    // Without a window, the question waits for one.
    try await worker.do("ask")
    try await worker.wait(for: "gate evaluating -")
    try await worker.do("window yellow")
    try await worker.answerQuestion(in: "yellow", on: desktop)
    try await worker.waitUntilShown("yellow")

    // Two windows are in front as long as one of them has the focus.
    try await worker.do("window red")
    try await worker.waitUntilShown("red+yellow")
    try await desktop.focus("yellow")
    try await worker.wait(until: "yellow", isActive: true)
    try await worker.waitUntilShown("red+yellow")
    let other = try await WindowWorker(on: desktop)
    try await other.do("window red")
    try await worker.waitUntilShown("-")
    try await other.do("destroy red")
    try await worker.waitUntilShown("red+yellow")

    // The last visible window locks.
    try await worker.do("minimize yellow")
    try await desktop.focus("red")
    try await worker.waitUntilShown("red")
    try await worker.do("record")
    try await worker.do("hide red")
    try await worker.wait(for: "gate locked")
    for command in ["show red", "replace red"] {
      try await worker.do(command)
      try await worker.waitUntilDrawn(1, of: "red")
      #expect(worker.frames.allSatisfy { $0.shown == "-" })
      try await worker.waitUntilShown("-")
    }
  }

  @Test func `a window that is closed ends, and what the program keeps ends on GTK's thread`()
    async throws
  {
    let desktop = try await Desktop(.x11)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("keep red")
    try await worker.do("ask red")
    try await worker.waitForQuestion(in: "red")
    try await worker.do("destroy red")
    try await worker.wait(for: "freed window of red main=true")
    try await worker.do("release")
    try await worker.wait(for: "freed cover of red main=true")
    // Its scene is free again.
    try await worker.do("window red")
    try await worker.do("ask red")
    try await worker.answerQuestion(in: "red", on: desktop)
    try await worker.waitUntilShown("red")
  }

  @Test func `whatever happens to windows while a thread calls the gate, the program stays whole`()
    async throws
  {
    let desktop = try await Desktop(.x11)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("window red")
    try await worker.do("window yellow")
    try await worker.do("busy")
    for round in 0..<100 {
      let window = round.isMultiple(of: 2) ? "red" : "yellow"
      for command in ["minimize", "show", "panel", "hide", "show"] {
        try worker.send("\(command) \(window)")
      }
      switch round % 10 {
      case 3: try await worker.do("text \(window) \(10 + round / 5)px")
      case 5: try await worker.do("replace \(window)")
      case 7, 8:
        try await worker.do("destroy \(window)")
        try await worker.do("window \(window)")
      default: break
      }
    }
    try await worker.do("text red 14px")
    try await worker.do("calm")
    try await worker.wait(for: "calm at last")
    try await worker.do("destroy yellow")
    // What the last calls of the gate led to ends before the next question.
    try await worker.do("lock")
    try await desktop.focus("red")
    try await worker.wait(until: "red", isActive: true)
    try await worker.do("ask red")
    try await worker.answerQuestion(in: "red", on: desktop)
    try await worker.waitUntilShown("red")

    try await worker.do("lock")
    try await worker.wait(for: "gate locked")
    try await worker.do("ask red")
    try await worker.waitForQuestion(in: "red")
    #expect(try worker.quit() == 0)
  }

  @Test(arguments: ["no-display", "not-a-window"])
  func `what cannot be connected is a typed error`(_ kind: String) async throws {
    if kind == "no-display" {
      let output = try await Program.run(
        WindowWorker.path, ["no-display"], environment: ["PATH": "/usr/bin:/bin"])
      #expect(
        output == "refused noDisplay: GTK has no display. Start the program on a desktop, "
          + "and connect its windows after gtk_init.\n")
    } else {
      let desktop = try await Desktop(.x11)
      let worker = try await WindowWorker(on: desktop)
      try await worker.do("window red")
      try await worker.do("button red")
      #expect(worker.lines.contains("refused notAWindow"))
      try await worker.do("thread red")
      #expect(worker.lines.contains("refused wrongThread"))
    }
  }

  @Test func `the main loop draws on while a store hangs that the gate wipes`() async throws {
    let desktop = try await Desktop(.x11)
    let worker = try await WindowWorker(on: desktop, environment: ["LOCKS": "resignActive"])
    try await worker.do("window red")
    try await worker.do("ask red")
    try await worker.answerQuestion(in: "red", on: desktop)
    try await worker.do("hang 3")
    try await worker.do("animate red")
    let other = try await WindowWorker(on: desktop)
    try await other.do("window yellow")
    // Reported when it is wiped.
    try await worker.wait(for: "wiped")
    let gap = try #require(Int(try await worker.answer("gap red")))
    print("The longest time between two frames while a store hung for 3000 ms: \(gap) ms")
    #expect((1..<1500).contains(gap))
  }
}
#endif
