#if GTKScenes
import SessionToolsBusTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Searches for what was typed into the cover in the program's memory.
@Suite(
  .serialized, .onOwnThread,
  .disabled(if: isSanitized, "a sanitizer's memory cannot be searched"))
struct TypedPassphraseTests {
  @Test(arguments: [false, true])
  func `a passphrase is nowhere in memory afterwards`(isRead: Bool) async throws {
    let bus = try await PrivateBus()
    let accessibility = isRead ? try await ScreenReader.start(on: bus) : nil
    defer { withExtendedLifetime(accessibility) {} }
    let desktop = try await Desktop(.x11, accessibleOn: isRead ? bus.address : nil)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("keep red")
    if isRead {
      // GTK reports the changes of an entry's text to a screen reader that has found it.
      let reader = ScreenReader(of: "colors", on: desktop)
      try await wait(until: "the window is read") { try await !reader.objects().isEmpty }
    }
    let isThere = {
      try ProcessMemory(of: worker.process)
        .places(of: ["typed": Array("~ameise-19c2b7e4f7a3d0".utf8)]).keys.contains("typed")
    }
    for end in ["Return", "BackSpace", "Escape", "lock", "destroy red"] {
      if end != "BackSpace" {
        try await worker.do("ask red")
        try await worker.waitForQuestion(in: "red")
      }
      try await desktop.type("schloss-walnuss~ameise-19c2b7e4f7a3d011")
      // This shows that the search works.
      try await wait(until: "it is typed") { try isThere() }
      switch end {
      case "Return":
        try await desktop.press(end)
        // A key that is pressed between two questions is lost.
        try await worker.wait(for: "question after 1 failures")
        try await worker.waitForQuestion(in: "red")
      case "BackSpace":
        try await desktop.press("a", with: "ctrl")
        try await desktop.press(end)
        try await desktop.press("Return")
        try await worker.wait(for: "question after 2 failures")
        try await worker.waitForQuestion(in: "red")
        // This was the third wrong answer.
        try await desktop.press("Return")
        try await worker.wait(for: "asked failed")
      case "Escape":
        try await desktop.press(end)
        try await worker.wait(for: "asked userCancel")
      default:
        try await worker.do(end)
      }
      try await wait(until: "it is gone after \(end)") { try !isThere() }
    }
  }
}
#endif
