import SessionToolsBusTestSupport
import Foundation
import SessionToolsOAuthTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing
import WebLogin

extension `one at a time` {
  /// As in a sandbox, where no other program can be started.
  @Suite struct `a login by way of the desktop's portal` {
    private static let name = "org.freedesktop.portal.Desktop"

    /// Makes the program in `$BROWSER` the desktop's browser.
    private func installBrowser(on bus: PrivateBus) throws {
      let opener = bus["open-in-browser"]
      try write("#!/bin/sh\nexec \"$BROWSER\" \"$@\"\n", to: opener)
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: opener)
      let applications = "\(bus["data"])/applications"
      try FileManager.default.createDirectory(
        atPath: applications, withIntermediateDirectories: true)
      let entry = "[Desktop Entry]\nType=Application\nName=Browser\nExec=\(opener) %u\n"
      try write(entry, to: "\(applications)/browser.desktop")
      let defaults = ["http", "https"].map { "x-scheme-handler/\($0)=browser.desktop\n" }
      try write(
        "[Default Applications]\n\(defaults.joined())", to: "\(bus["config"])/mimeapps.list")
    }

    private func write(_ text: String, to path: String) throws {
      try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    @Test func `is finished in the browser of the desktop`() async throws {
      let stage = try LoginStage()
      let bus = try await PrivateBus()
      try installBrowser(on: bus)
      let portal = try await bus.start(
        "/usr/libexec/xdg-desktop-portal", name: Self.name,
        environment: Chromium.shared().environment(.allow))
      var login = stage.login(.allow)
      login.browser = PortalOpener(bus: bus.address)
      let credential = try await login.start()
      #expect(try await stage.server.status(with: credential.accessToken) == 200)
      withExtendedLifetime(portal) {}
    }

    @Test func `reports that there is no browser if the person refuses in the portal`() async throws
    {
      let stage = try LoginStage()
      let bus = try await PrivateBus()
      let portal = try await bus.start(
        "/usr/bin/python3", ["\(SourceDirectory.path)/Tests/Services/WebBrowser/portal.py"],
        name: Self.name)
      for address in [bus.address, "unix:path=/nowhere", nil] {
        var login = stage.login(.allow)
        login.browser = PortalOpener(bus: address)
        let session = login
        let error = await #expect(throws: WebLoginError.self) { try await session.start() }
        #expect(error?.code == .noBrowser)
      }
      #expect(try !stage.hasPending())
      withExtendedLifetime(portal) {}
    }
  }
}
