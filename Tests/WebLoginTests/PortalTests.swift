import BusTestSupport
import Foundation
import OAuthTestSupport
import TestSupport
import TestThreads
import Testing
import WebLogin

extension `one at a time` {
  /// As in a sandbox, where no other program can be started.
  @Suite struct `a login by way of the desktop's portal` {
    private func portal(_ manner: String, on bus: PrivateBus) async throws -> Daemon {
      try await bus.start(
        "/usr/bin/python3", ["\(SourceDirectory.path)/Tests/WebBrowser/portal.py"],
        name: "org.freedesktop.portal.Desktop",
        environment: Chromium.shared().environment(.allow).merging(["PORTAL": manner]) { $1 })
    }

    @Test func `is finished in the browser that the portal opens`() async throws {
      let stage = try LoginStage()
      let bus = try await PrivateBus()
      let portal = try await portal("allow", on: bus)
      var login = stage.login(.allow)
      login.browser = PortalOpener(bus: bus.address)
      let credential = try await login.start()
      #expect(try await stage.server.status(with: credential.accessToken) == 200)
      withExtendedLifetime(portal) {}
    }

    @Test func `says that there is no browser when the portal opens none`() async throws {
      let stage = try LoginStage()
      let bus = try await PrivateBus()
      let portal = try await portal("refuse", on: bus)
      for address in [bus.address, "unix:path=/nowhere", nil] {
        var login = stage.login(.allow)
        login.browser = PortalOpener(bus: address)
        let session = login
        let error = await #expect(throws: WebLoginError.self) { try await session.start() }
        #expect(error?.code == WebLoginError.noBrowser)
      }
      #expect(try !stage.hasPending())
      withExtendedLifetime(portal) {}
    }
  }
}
