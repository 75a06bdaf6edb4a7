import Foundation
import ToolBase
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
