import BusTestSupport
import Testing

/// The providers that the same tests run with.
enum Keyring: String, CaseIterable, CustomTestStringConvertible {
  case gnomeKeyring = "gnome-keyring"
  case keePassXC = "KeePassXC"
  case kWallet = "KWallet"

  var testDescription: String { rawValue }

  /// Starts the provider on a bus, unlocked.
  func start(on bus: PrivateBus, saves: Bool) async throws -> any RunningKeyring {
    switch self {
    case .gnomeKeyring: try await GnomeKeyring(on: bus)
    case .keePassXC: try await KeePassXC(on: bus, saves: saves)
    case .kWallet: try await KWallet(on: bus)
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
