#if GTKScenes
import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The cover as a screen reader finds it, and for those who need other colors and sizes.
@Suite(.serialized, .onOwnThread) struct AccessibilityTests {
  @Test(arguments: [(theme: "Default", dpi: 96), ("Default-hc-dark", 192)])
  func `a screen reader and a keyboard find the question, and nothing of the content`(
    appearance: (theme: String, dpi: Int)
  ) async throws {
    let bus = try await PrivateBus()
    let accessibility = try await ScreenReader.start(on: bus)
    defer { withExtendedLifetime(accessibility) {} }
    let desktop = try await Desktop(.x11, accessibleOn: bus.address)
    try desktop.write(
      "[Settings]\ngtk-xft-dpi=\(appearance.dpi * 1024)\n", to: ".config/gtk-4.0/settings.ini")
    let worker = try await WindowWorker(on: desktop, environment: ["GTK_THEME": appearance.theme])
    try await worker.do("window red")
    try await worker.do("ask red")
    try await worker.waitForQuestion(in: "red")
    let reader = ScreenReader(of: "colors", on: desktop)
    var found = try await reader.objects()
    #expect(found.contains("dialog 'Colors is locked'"))
    #expect(found.contains("label 'Colors wants to show your colors'"))
    #expect(found.contains("password text 'Passphrase:' focused"))
    #expect(!found.contains { $0.contains("Secret of red") || $0.contains("Delete") })

    // All by the keyboard, and each button is scrolled to where it can be seen. After the last one
    // comes the first.
    let entry = "password text 'Passphrase:'"
    let (refuse, confirm) = ("button 'Not now'", "button 'Continue'")
    for (next, modifiers) in [
      (refuse, []), (confirm, []), (entry, []), (confirm, ["shift"]), (refuse, ["shift"]),
    ] {
      try await desktop.press("Tab", with: modifiers)
      try await wait(until: "\(next) has the focus") {
        try await reader.objects().contains("\(next) focused")
      }
      if next != entry {
        let name = try #require(next.split(separator: "'").last)
        #expect(try await reader.isInside(String(name)))
      }
    }
    try await desktop.press("Escape")
    try await worker.wait(for: "asked userCancel")
    try await wait(until: "the unlock button has the focus") {
      try await reader.objects().contains("button 'Unlock' focused")
    }
    try await desktop.press("Return")
    try await worker.wait(for: "gate evaluating red")
    try await worker.waitForQuestion(in: "red")
    try await desktop.type("wrong")
    try await desktop.press("Return")
    try await wait(until: "the failure is read") {
      try await reader.objects().contains("alert 'That was not right. Try again.'")
    }
    try await desktop.type("open sesame")
    try await desktop.press("Return")
    try await worker.waitUntilShown("red")
    found = try await reader.objects()
    #expect(found.contains("label 'Secret of red'"))
    #expect(!found.contains { $0.hasPrefix("dialog") })
  }

  @Test func `a screen reader finds no content that a minimized window receives`() async throws {
    let bus = try await PrivateBus()
    let accessibility = try await ScreenReader.start(on: bus)
    defer { withExtendedLifetime(accessibility) {} }
    let desktop = try await Desktop(.x11, accessibleOn: bus.address)
    let worker = try await WindowWorker(on: desktop)
    try await worker.do("window red")
    try await worker.wait(until: "red", isActive: true)
    try await worker.do("minimize red")
    try await worker.wait(until: "red", isActive: false)
    let reader = ScreenReader(of: "colors", on: desktop)
    try await wait(until: "the window is read") {
      try await reader.objects().contains("dialog 'Colors is locked'")
    }
    try await worker.do("content red Late secret")
    // What is due before the next frame is done before the next command.
    _ = try await worker.answer("state red")
    #expect(try await !reader.objects().contains { $0.contains("Late secret") })
  }
}
#endif
