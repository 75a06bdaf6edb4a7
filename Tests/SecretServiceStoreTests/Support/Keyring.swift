import BusTestSupport
import Testing

/// The providers that the same tests run with.
enum Keyring: String, CaseIterable, CustomTestStringConvertible {
  case gnomeKeyring = "gnome-keyring"
  case keePassXC = "KeePassXC"
  case kWallet = "KWallet"

  var testDescription: String { rawValue }

  /// A program that provides the service on a bus, unlocked.
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

/// A bus with a provider on it, both of which go with the test.
struct KeyringOnBus {
  let bus: PrivateBus
  private(set) var keyring: any RunningKeyring
  private let kind: Keyring
  private let saves: Bool

  /// Starts both; changes outlast the provider only when told so.
  init(_ kind: Keyring, saves: Bool = false) async throws {
    self.kind = kind
    self.saves = saves
    bus = try await PrivateBus()
    keyring = try await kind.start(on: bus, saves: saves)
  }

  /// Ends the provider, as a crash does, and starts it again.
  mutating func restart() async throws {
    keyring.kill()
    keyring = try await kind.start(on: bus, saves: saves)
  }
}
