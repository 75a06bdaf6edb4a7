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
  /// The question for the address that the browser returns to, if the person pastes it.
  var question: PastedAddress?

  func open(_ address: URL) async throws(WebLoginError) {
    defer { question?.isDue.give(()) }
    let items = URLComponents(url: address, resolvingAgainstBaseURL: false)?.queryItems
    let redirect = items?.first { $0.name == "redirect_uri" }?.value.flatMap(URL.init(string:))
    let port = redirect?.port.map { "ssh -L \($0):127.0.0.1:\($0) THIS-MACHINE" }
    let ways =
      question != nil
      ? "The browser then comes to a page that it cannot open. Copy the address of that page, "
        + "which begins with \(redirect?.absoluteString ?? "http")?, and paste it here."
      : "For a browser on the machine that you came from by ssh, first run there: "
        + (port ?? "ssh -L")
    let text = """
      Open this address in a browser\(question != nil ? "" : " on this machine"):

      \(address.absoluteString.escapingControls())

      \(ways)

      """
    do throws(SystemCallError) {
      try System.writeToTerminal(text)
    } catch {
      // It was there when the login began. The login waits: the browser may be open already.
      StandardError.complain("the terminal is gone, so the address cannot be shown")
    }
  }
}

/// A person who pastes the address that a browser on another machine returned to.
struct PastedAddress {
  /// Given when the login's address is on the terminal, which the question must follow.
  let isDue = FirstAnswer<Void>()

  /// Asks for the address, which is not shown: it has the code of the login in it.
  ///
  /// - Returns: The address; `nil` if the person gave up, or the login has ended.
  func ask(refusal: String?) async -> SecretBytes? {
    await isDue.value(whenCancelled: ())
    guard let wake = try? System.Wake() else { return nil }
    let text = (refusal.map { "\($0)\n" } ?? "") + "Address (not shown): "
    let address = await MainThread.ask(text, isHidden: true, wake: wake)
    guard let address, address.byteCount > System.maximumTerminalLine else { return address }
    return await ask(
      refusal: "The address is longer than a terminal takes. End this with Ctrl-C, and log in with "
        + "--device, or with --print-address and ssh -L.")
  }
}
