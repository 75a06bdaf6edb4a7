#if GTKScenes
import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Real windows on an X server and on a Wayland compositor, with a person at the keyboard.
@Suite(.serialized, .onOwnThread) struct GatedWindowTests {
  /// Prints what was covered when, for people.
  private func table(_ title: String, _ frames: [Frame]) {
    print(title)
    var rows: [(frame: Frame, count: Int)] = []
    for frame in frames {
      if rows.last?.frame == frame {
        rows[rows.count - 1].count += 1
      } else {
        rows.append((frame, 1))
      }
    }
    for (frame, count) in rows {
      print(
        "  \(count) frames of \(frame.window): focus \(frame.isActive), locked \(frame.isLocked),"
          + " content on the display: \(frame.shown) (\(frame.phases))")
    }
  }

  @Test(arguments: Desktop.Kind.allCases)
  func `no frame shows content after the focus was lost, and typed text survives`(
    kind: Desktop.Kind
  ) async throws {
    let desktop = try await Desktop(kind)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("window red")
    try await worker.wait(until: "red", isActive: true)
    #expect(try await worker.answer("look") == "-")
    try await worker.do("ask red")
    try await worker.answerQuestion(in: "red", on: desktop)
    try await worker.waitUntilShown("red")
    try await desktop.type("hello")
    try await desktop.press("Left", with: "shift")
    try await desktop.press("Left", with: "shift")
    let typed = "entry=true text=hello selection=3-5 clicks=0 asked=false active=true"
    try await wait(until: typed) { try await worker.answer("state red") == typed }

    try await worker.do("record")
    let other = try await WindowWorker(on: desktop)
    try await other.do("window yellow")
    try await wait(until: "a frame is covered") {
      worker.frames.contains { !$0.isActive && !$0.isLocked && $0.shown == "-" }
    }
    let frames = worker.frames
    table("Another program's window on \(kind):", frames)
    #expect(frames.allSatisfy { $0.isActive || $0.shown == "-" })
    try await worker.waitUntilShown("-")
    try await other.do("destroy yellow")
    try await worker.waitUntilShown("red")
    #expect(try await worker.answer("state red") == typed)

    // A menu is a window of its own, and the content below it is wanted.
    try await worker.do("menu red")
    try await worker.waitUntilShown("red")
    #expect(worker.frames.allSatisfy { $0.shown == "red" })
    try await desktop.press("Escape")
    try await worker.waitUntilShown("red")
    // Newer versions of GTK leave the focus on the menu's button.
    try await worker.do("focus red")
    try await wait(until: typed) { try await worker.answer("state red") == typed }

    try await worker.do("lock")
    try await worker.wait(for: "gate locked")
    try await worker.waitUntilShown("-")
    table("Locked on \(kind):", worker.frames)
    // Shortcuts and mnemonics of what is not seen, and text for its entry.
    try await desktop.press("d", with: "ctrl")
    try await desktop.press("d", with: "alt")
    try await desktop.type("d")
    try await worker.do("ask red")
    try await worker.answerQuestion(in: "red", on: desktop)
    try await worker.waitUntilShown("red")
    let state = try await worker.answer("state red")
    #expect(state == typed)
    try await desktop.press("d", with: "ctrl")
    try await wait(until: "the shortcut works again") {
      try await worker.answer("state red").contains("clicks=1")
    }
  }
}
#endif
