import Foundation
import SessionToolsBase
import WebLogin

/// The person's default browser, with a hint at other ways if it has not returned after a while.
///
/// What is under way when it has returned must not be interrupted: it spends a code.
struct HintingBrowser: LoginBrowser {
  func open(_ address: URL) async throws(WebLoginError) {
    let hint = Task {
      try await Task.sleep(for: .seconds(10))
      StandardError.say(
        "Still waiting. If no browser has opened, or the wrong one, press Ctrl-C, and log in with "
          + "--print-address, or with --device in a browser on another device.")
    }
    do throws(WebLoginError) {
      try await SystemBrowser().open(address)
    } catch {
      hint.cancel()
      throw error
    }
    // Cancelled when the browser has returned.
    await withTaskCancellationHandler {
      _ = await hint.result
    } onCancel: {
      hint.cancel()
    }
  }
}

/// A person who opens the login's address themselves, in a browser that no program finds.
///
/// The address is shown on the terminal alone: it identifies the login, and must not end up in a
/// log.
struct PrintedAddress: LoginBrowser {
  func open(_ address: URL) async throws(WebLoginError) {
    let items = URLComponents(url: address, resolvingAgainstBaseURL: false)?.queryItems
    let redirect = items?.first { $0.name == "redirect_uri" }?.value.flatMap(URL.init(string:))
    let port = redirect?.port.map { "ssh -L \($0):127.0.0.1:\($0) THIS-MACHINE" }
    let text = """
      Open this address in a browser on this machine:

      \(address.absoluteString.escapingControls())

      For a browser on the machine that you came from by ssh, first run there: \(port ?? "ssh -L")

      """
    do throws(SystemCallError) {
      try System.writeToTerminal(text)
    } catch {
      // It was there when the login began. The login waits: the browser may be open already.
      StandardError.complain("the terminal is gone, so the address cannot be shown")
    }
  }
}
