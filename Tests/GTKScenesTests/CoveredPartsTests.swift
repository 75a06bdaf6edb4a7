#if GTKScenes
import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What is covered beside the content: surfaces above it, keys, and the time that wiping takes.
@Suite(.serialized, .onOwnThread) struct CoveredPartsTests {
  private func open(_ worker: WindowWorker, on desktop: Desktop) async throws {
    try await worker.do("ask red")
    try await worker.answerQuestion(in: "red", on: desktop)
    try await worker.waitUntilShown("red")
  }

  @Test func `surfaces above the cover are closed`() async throws {
    // An X server without a compositor takes no picture of them.
    let desktop = try await Desktop(.wayland)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("window red")
    try await open(worker, on: desktop)
    try await worker.do("panel red")
    try await worker.waitUntilShown("red+yellow")
    try await worker.do("lock")
    try await worker.waitUntilShown("-")
    // Also one that opens while the window is covered.
    try await worker.do("panel red")
    try await worker.waitUntilShown("-")
    try await open(worker, on: desktop)

    try await worker.do("panel red")
    try await worker.waitUntilShown("red+yellow")
    let other = try await WindowWorker(on: desktop)
    try await other.do("window other")
    try await worker.waitUntilShown("-")
    try await other.do("destroy other")
    try await worker.waitUntilShown("red")
  }

  @Test func `menus and tooltips are closed with the cover`() async throws {
    let desktop = try await Desktop(.x11)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("window red")
    for kind in ["menu", "tooltip"] {
      try await open(worker, on: desktop)
      #expect(try await desktop.surfaceCount(of: "colors") == 1)
      try await worker.do("\(kind) red")
      var count = 0
      try await wait(until: "the \(kind) is there") {
        // A tooltip waits until the pointer has come and rests.
        if kind == "tooltip", count.isMultiple(of: 100) {
          try await desktop.point(at: "red", 200 + count / 100 % 2, 400)
        }
        count += 1
        return try await desktop.surfaceCount(of: "colors") == 2
      }
      try await worker.do("lock")
      try await wait(until: "the \(kind) is closed") {
        try await desktop.surfaceCount(of: "colors") == 1
      }
    }
  }

  @Test func `what is pressed when the gate locks or opens acts on nothing that is not seen`()
    async throws
  {
    let desktop = try await Desktop(.x11)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("window red")
    try await open(worker, on: desktop)
    // The button that counts.
    let place = try await worker.answer("place red").split(separator: " ").compactMap { Int($0) }
    try #require(place.count == 2)
    // A click before the window has its place is lost.
    try await wait(until: "the button is pressed") {
      try await desktop.hold("mouseup", "1")
      try await desktop.point(at: "red", place[0], place[1])
      try await desktop.hold("mousedown", "1")
      for _ in 0..<50 {
        if try await worker.answer("state red").contains("pressed=true") { return true }
        try await Task.sleep(for: .milliseconds(20))
      }
      return false
    }
    // No earlier event is under way.
    let clicks = try #require(try await worker.answer("state red").firstMatch(of: /clicks=(\d+)/))
    let before = try #require(Int(clicks.1))
    try await worker.do("lock")
    try await worker.waitUntilShown("-")
    try await desktop.hold("mouseup", "1")

    try await worker.do("ask red")
    try await worker.waitForQuestion(in: "red")
    try await desktop.type("open sesame")
    try await desktop.hold("keydown", "Return")
    try await worker.wait(for: "asked open")
    try await worker.waitUntilShown("red")
    try await worker.waitUntilShown("red")
    try await desktop.hold("keyup", "Return")
    let state = try await worker.answer("state red")
    #expect(state.contains("clicks=\(before) "), "\(state)")
    try await desktop.press("Return")
    try await wait(until: "the button has the keyboard") {
      try await worker.answer("state red").contains("clicks=\(before + 1) ")
    }
  }

  @Test func `a theme with translucent windows shows nothing through the cover`() async throws {
    let desktop = try await Desktop(.x11)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("window red")
    try await open(worker, on: desktop)
    for style in [
      "* { background-color: transparent; background-image: none; }",
      "@define-color theme_bg_color transparent;",
      "window > .background { margin: 90px; border: 20px solid transparent; }",
      "window > .background { opacity: 0; transform: translate(200px, 0); filter: opacity(0); }",
      "@keyframes go { to { opacity: 0; } } window > .background { animation: go 1ms forwards; }",
    ] {
      try await worker.do("style red \(style) .red { background: #f00; opacity: 1; margin: 0; }")
      try await worker.waitUntilShown("red")
      try await worker.do("lock")
      try await worker.waitUntilShown("-")
      try await open(worker, on: desktop)
    }
  }

  @Test func `no controller of the window receives a key before the cover`() async throws {
    let desktop = try await Desktop(.x11)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("window red")
    // It is in front of those that the window had when it was connected.
    try await worker.do("keys red")
    try await open(worker, on: desktop)
    #expect(try await worker.answer("seen red") == "0")
    try await desktop.type("d")
    try await wait(until: "a key arrives") { try await worker.answer("seen red") == "1" }
    try await worker.do("lock")
    try await worker.waitUntilShown("-")
    try await worker.do("keys red")
    try await desktop.type("d")
    try await open(worker, on: desktop)
    #expect(try await worker.answer("seen red") == "1")
  }

  @Test func `a window is covered while the gate wipes, and not only afterwards`() async throws {
    let desktop = try await Desktop(.x11)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("window red")
    try await open(worker, on: desktop)
    try await worker.do("hang 3")
    try await worker.do("record")
    try await worker.do("lock")
    try await worker.wait(for: "wiped")
    let lines = worker.lines
    let covered = try #require(lines.firstIndex { Frame($0)?.shown == "-" })
    #expect(try covered < #require(lines.firstIndex(of: "wiped")))
  }

  @Test(arguments: Desktop.Kind.allCases)
  func `a dialog of the program's own has the keyboard while its window is covered`(
    kind: Desktop.Kind
  ) async throws {
    let desktop = try await Desktop(kind)
    let worker = try await WindowWorker(on: desktop, environment: ["DIALOGS": "1"])
    try await worker.do("window red")
    for _ in 0..<2 {
      try await worker.do("ask red")
      try await wait(until: "the dialog asks") {
        try await worker.answer("dialog") == "focused=true"
      }
      #expect(try await worker.answer("look") == "-")
      try await desktop.type("open sesame")
      try await desktop.press("Return")
      try await worker.waitUntilShown("red")
      try await worker.do("lock")
      try await worker.waitUntilShown("-")
    }
  }
}
#endif
