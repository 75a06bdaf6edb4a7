#if GTKScenes
import SessionToolsBusTestSupport
import Foundation
import SessionToolsOAuthTestSupport
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

/// The demo in front of a person, with a real browser and a real authorization server.
@Suite(.serialized, .onOwnThread) struct MailReaderTests {
  @Test func `a login is not touched by what happens to the windows, and its result waits`()
    async throws
  {
    let server = try AuthlibServer()
    // Other tests act in the shared one, on its newest page.
    let chromium = try Chromium()
    let bus = try await PrivateBus()
    let accessibility = try await ScreenReader.start(on: bus)
    defer { withExtendedLifetime(accessibility) {} }
    let logind = try await MockLogind(on: bus)
    let desktop = try await Desktop(.x11, accessibleOn: bus.address)
    try desktop.setBrowser(try #require(chromium.environment(.open)["BROWSER"]))
    let mail = try LineProgram(
      BuildDirectory.program("SessionToolsMailReader"), [server.address],
      environment: desktop.environment
        .merging(chromium.environment(.open)) { $1 }
        .merging([
          "DBUS_SYSTEM_BUS_ADDRESS": bus.address, "XDG_DATA_HOME": desktop[".local/share"],
        ]) { $1 })
    let reader = ScreenReader(of: "mail-reader", on: desktop)
    let hasLogin = {
      let store = try SealedFileStore.open(
        at: desktop[".local/share/mail-reader"], key: try Passphrase("open sesame"))
      return try StoreContainer<OAuthCredential>(store, service: "com.example.mail")
        .containsItem(forIdentifier: "login")
    }
    let question = "password text 'Passphrase:'"
    let unlock = {
      // A window that appears takes the focus, but not the question: the person types again.
      for _ in 1...5 {
        try await wait(until: "the passphrase is asked for") {
          let objects = try await reader.objects()
          guard let place = objects.firstIndex(of: "\(question) focused"),
            let window = objects[..<place].last(where: { $0.hasPrefix("frame '") })
          else { return false }
          try await desktop.focus(String(window.dropFirst("frame '".count).dropLast()))
          return true
        }
        try await desktop.press("a", with: "ctrl")
        try await desktop.type("open sesame")
        try await desktop.press("Return")
        for _ in 1...50 {
          if try await !reader.objects().contains(where: { $0.hasPrefix(question) }) { return }
          try await Task.sleep(for: .milliseconds(100))
        }
      }
      throw NeverHappened(what: "the passphrase is accepted")
    }
    try await unlock()
    try await wait(until: "signing in is offered") {
      try await reader.objects().contains { $0.contains("Sign In With the Browser") }
    }
    try await reader.press("Sign In With the Browser")
    try await wait(until: "the page is there") {
      (try? await chromium.perform(.page))?.hasPrefix("/authorize") ?? false
    }

    // Covered by another program's window, minimized, locked, and asleep.
    let other = try await WindowWorker(on: desktop)
    try await other.do("window yellow")
    for title in ["Inbox", "Notes"] { try await desktop.minimize(title) }
    try await logind.say(isLocked: true)
    try await logind.announce(sleep: true)
    try await logind.announce(sleep: false)
    #expect(try await chromium.perform(.allow).hasPrefix("/callback The browser's part"))
    try await mail.wait(for: "The browser is back")
    #expect(try !hasLogin(), "the result waits")
    #expect(!mail.lines.contains("Signed in"))

    try await other.do("destroy yellow")
    try await logind.say(isLocked: false)
    try await desktop.focus("Inbox")
    try await unlock()
    try await mail.wait(for: "Signed in")
    #expect(try hasLogin())
    try await wait(until: "the mail is there") {
      try await reader.objects().contains { $0.contains("A moth in the relay") }
    }
    try await reader.press("Lock")
    try await wait(until: "the mail is gone") {
      try await !reader.objects().contains { $0.contains("A moth in the relay") }
    }
    try await reader.press("Unlock")
    try await unlock()
    try await wait(until: "signing out is offered") {
      try await reader.objects().contains("button 'Sign Out'")
    }
    try await reader.press("Sign Out")
    try await mail.wait(for: "Signed out")
    #expect(try !hasLogin())
    #expect(mail.lines == ["The browser is back", "Signed in", "Signed out"])
  }

  @Test func `without a display the demo ends with a sentence`() async throws {
    let failure = await #expect(throws: Program.Failure.self) {
      try await Program.run(
        BuildDirectory.program("SessionToolsMailReader"), ["http://127.0.0.1:9"],
        environment: ["PATH": "/usr/bin:/bin"])
    }
    #expect(failure?.status == 1)
    #expect(
      failure?.output == "Start this on a desktop, with the address of an authorization server\n")
  }
}
#endif
