import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport
import Testing

/// The providers that the same tests run with.
enum Keyring: String, CaseIterable, CustomTestStringConvertible {
  case gnomeKeyring = "gnome-keyring"
  case keePassXC = "KeePassXC"
  case kWallet = "KWallet"
  case sealed = "session-tools"

  var testDescription: String { rawValue }

  /// Starts the provider on a bus, unlocked.
  func start(on bus: PrivateBus, saves: Bool) async throws -> any RunningKeyring {
    switch self {
    case .gnomeKeyring: try await GnomeKeyring(on: bus)
    case .keePassXC: try await KeePassXC(on: bus, saves: saves)
    case .kWallet: try await KWallet(on: bus)
    case .sealed: try await SealedKeyring(on: bus)
    }
  }
}

/// A provider that runs until it is ended, at the latest with the test.
protocol RunningKeyring: AnyObject, Sendable {
  var isRunning: Bool { get }
  func kill()
  func saving(_ change: () async throws -> Void) async throws
}

extension GnomeKeyring: RunningKeyring {}
extension KeePassXC: RunningKeyring {}
extension KWallet: RunningKeyring {}
extension SealedKeyring: RunningKeyring {}

/// A bus with a provider on it, both of which end with the test.
struct KeyringOnBus {
  let bus: PrivateBus
  private(set) var keyring: any RunningKeyring
  private let kind: Keyring
  private let saves: Bool

  /// Starts both; changes outlast the provider only if it saves.
  init(_ kind: Keyring, saves: Bool = false) async throws {
    self.kind = kind
    self.saves = saves
    bus = try await PrivateBus()
    keyring = try await kind.start(on: bus, saves: saves)
  }

  /// Kills the provider, as in a crash, and starts it again.
  mutating func restart() async throws {
    keyring.kill()
    keyring = try await kind.start(on: bus, saves: saves)
  }
}

/// A file that a provider writes some time after a change, as a new file each time.
struct SavedFile {
  let path: String

  private struct Version: Equatable {
    /// The inode's number, which may be that of an earlier version.
    let number: Int
    let modificationDate: Date
  }

  /// Makes changes, and waits until they are on disk.
  func saving(_ change: () async throws -> Void) async throws {
    let before = try version()
    try await change()
    // One change may be several for the provider, each of which writes a new file.
    var last = before
    var lastChange = ContinuousClock.now
    try await wait(until: "\(path) is saved") {
      let version = try version()
      if version != last { (last, lastChange) = (version, .now) }
      return last != before && ContinuousClock.now - lastChange > .seconds(3)
    }
  }

  private func version() throws -> Version {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return Version(
      number: try #require(attributes[.systemFileNumber] as? Int),
      modificationDate: try #require(attributes[.modificationDate] as? Date))
  }
}
