import Foundation
import SessionToolsTestSupport

/// A security key in software.
package final class SoftwareKey: Sendable {
  private let directory: TemporaryDirectory

  /// Makes a key, with a PIN unless it is empty.
  package init(pin: String = "1234", _ behavior: Behavior = Behavior()) throws {
    directory = try TemporaryDirectory()
    try behave(behavior)
    try SoftwareKeys.shared.serve(directory.path, pin: pin)
  }

  /// How a key behaves; the authenticator's own text describes it.
  package struct Behavior: Encodable {
    package var touch: String?
    package var reader: Bool?
    package var finger: String?
    package var answer: String?
    package var alwaysAsks: Bool?
    /// Another number means that it was unplugged and plugged in again.
    package var plugged: Int?
    /// The status with which every PIN is refused.
    package var refusesPIN: Int?

    package init(
      touch: String? = nil, reader: Bool? = nil, finger: String? = nil, answer: String? = nil,
      alwaysAsks: Bool? = nil, plugged: Int? = nil, refusesPIN: Int? = nil
    ) {
      self.touch = touch
      self.reader = reader
      self.finger = finger
      self.answer = answer
      self.alwaysAsks = alwaysAsks
      self.plugged = plugged
      self.refusesPIN = refusesPIN
    }

    private enum CodingKeys: String, CodingKey {
      case touch, reader, finger, answer, plugged
      case alwaysAsks = "always asks"
      case refusesPIN = "refuses the PIN"
    }
  }

  /// Changes how the key behaves from the next command on, also while it waits.
  package func behave(_ behavior: Behavior) throws {
    try JSONEncoder().encode(behavior).write(
      to: URL(filePath: directory["behavior"]), options: .atomic)
  }

  /// The path of its device.
  package var path: String { directory["socket"] }

  /// What has happened, line by line.
  package var log: [String] {
    let text = try? String(contentsOfFile: directory["log"], encoding: .utf8)
    return text?.split(separator: "\n").map(String.init) ?? []
  }

  /// Returns how often something has happened.
  package func count(_ line: String) -> Int { log.count { $0 == line } }

  /// Waits until the key waits for a touch, for the first time or once more.
  package func waits(times: Int = 1) async throws {
    try await wait(until: "the key waits for a touch") { count("waiting for touch") >= times }
  }

  /// The variables with which a program finds these keys, and no others.
  package static func environment(of keys: [SoftwareKey]) -> [String: String] {
    [
      "LD_PRELOAD": SoftwareKeys.library,
      "SOFTWARE_KEYS": keys.map(\.path).joined(separator: ":"),
    ]
  }
}
