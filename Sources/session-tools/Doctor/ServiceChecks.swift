import Foundation
import SecretServiceStore
import SessionToolsBase

/// Whether a collection of the desktop's keyring can be used, and what its secrets are worth.
struct ServiceChecks {
  private let store: SecretServiceStore
  /// Whether anything depends on it; otherwise what is missing is only worth knowing.
  private let isNeeded: Bool

  init(_ collection: SecretServiceCollection, isNeeded: Bool) {
    var options = SecretServiceOptions()
    options.timeout = .seconds(5)
    store = SecretServiceStore(collection: collection, options: options)
    self.isNeeded = isNeeded
  }

  func all() -> [Check] {
    [service] + plainKeyrings + [backend].compactMap(\.self)
  }

  private var service: Check {
    do throws(StoreError) {
      let availability = try store.waiting { store async throws(StoreError) in
        try await store.availability()
      }
      return try check(availability)
    } catch {
      return found(error.reason, remedy: error.remedy, ExitStatus(error.code))
    }
  }

  private func check(_ availability: SecretServiceAvailability) throws(StoreError) -> Check {
    switch availability {
    case .noBus:
      return found(
        "there is no session bus to reach it on",
        remedy: "dbus-run-session -- COMMAND, or log in to a desktop")
    case .noProvider:
      return found(
        "no program provides it",
        remedy: DesktopEnvironment.isKDE
          ? "sudo apt-get install libpam-kwallet5, turn KWallet on in System Settings, and log in "
            + "again"
          : "sudo apt-get install gnome-keyring, and log in again")
    case .noCollection:
      let program = try program
      return found(
        "\(program) has no "
          + (store.collection.name.map { "collection '\($0)'" } ?? "default collection"),
        remedy: program.howToMakeCollection)
    case .locked:
      return found(
        "\(try program): the collection is locked",
        remedy: "session-tools unlock secret-service:" + (store.collection.name?.shellQuoted ?? ""))
    case .unlocked:
      let program = try program
      guard isNeeded else {
        return .ok(Self.name, "\(program): the default collection is unlocked")
      }
      let count = try store.keys(in: nil).count
      return .ok(Self.name, "\(program): unlocked, \(Size.count(count, "item")) of this library")
    }
  }

  private var program: ProviderProgram {
    get throws(StoreError) {
      try store.waiting { store async throws(StoreError) in try await store.providerProgram() }
    }
  }

  private static let name = "secret service"

  private func found(
    _ finding: String, remedy: String?, _ status: ExitStatus = .unavailable
  ) -> Check {
    isNeeded
      ? .problem(Self.name, finding, remedy: remedy, status)
      : .note(Self.name, finding, remedy: remedy)
  }

  /// gnome-keyring writes a keyring without a password as plain text.
  private var plainKeyrings: [Check] {
    let directory = "\(UserDirectory.data.path)/keyrings"
    return Files.names(in: directory).sorted().filter { $0.hasSuffix(".keyring") }.compactMap {
      name in
      let path = "\(directory)/\(name)"
      guard let file = FileHandle(forReadingAtPath: path),
        let start = try? file.read(upToCount: 9), start == Data("[keyring]".utf8)
      else { return nil }
      return .problem(
        "keyring", "\(path) has no password: its secrets are plain text",
        remedy: "seahorse, and give the keyring a password", .failure)
    }
  }

  /// Other programs that use libsecret; this library never does it that way.
  private var backend: Check? {
    guard let backend = ProcessInfo.processInfo.environment["SECRET_BACKEND"], backend != "service"
    else { return nil }
    return .note(
      "secret backend",
      "SECRET_BACKEND=\(backend) takes other programs elsewhere; session-tools goes to the service",
      remedy: "unset SECRET_BACKEND")
  }
}

extension ProviderProgram {
  /// How a person makes a collection in it, without putting another provider in its place.
  fileprivate var howToMakeCollection: String {
    switch self {
    case .gnomeKeyring:
      "seahorse, or gnome-keyring-daemon --replace --unlock --components=secrets, which reads a "
        + "password from standard input"
    case .keePassXC:
      "keepassxc, and choose the group that Secret Service Integration exposes in the settings of "
        + "a database"
    case .kWallet: "kwalletmanager5, and make a wallet there; then log in again"
    case .other(let name): "make one with the window of \(name)"
    }
  }
}

private enum DesktopEnvironment {
  /// Whether KWallet is the provider to have.
  static var isKDE: Bool {
    let names = ProcessInfo.processInfo.environment["XDG_CURRENT_DESKTOP"] ?? ""
    return names.split(separator: ":").contains("KDE")
  }
}
