import Foundation
import SecretServiceStore
import SessionToolsBase
import ToolBase

/// The checks of a collection of the desktop's keyring: whether it can be used, and whether its
/// secrets are protected.
struct ServiceChecks {
  private let store: SecretServiceStore
  /// Whether a store depends on the collection; otherwise a missing part is only a note.
  private let isNeeded: Bool

  init(_ collection: SecretServiceStore.Collection, isNeeded: Bool) {
    var options = SecretServiceStore.Options()
    options.timeout = .seconds(5)
    store = SecretServiceStore(collection: collection, options: options)
    self.isNeeded = isNeeded
  }

  func all() -> [Check] {
    if let problem = TaskThreads.problem { return [found(problem.reason, remedy: problem.remedy)] }
    if let problem = SharedLibrary.secret.problem {
      return [found("libsecret cannot be loaded: \(problem)", remedy: SharedLibrary.secret.remedy)]
    }
    return [service] + plainKeyrings
      + [backend, MigrationCheck.checkServices(timeout: .seconds(5))].compactMap(\.self)
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

  private func check(_ availability: SecretServiceStore.Availability) throws(StoreError) -> Check {
    switch availability {
    case .noBus:
      return found(
        "there is no session bus to reach it on",
        remedy: "dbus-run-session -- COMMAND, or log in to a desktop")
    case .noProvider:
      return found(
        "no program provides it",
        remedy: Sandbox.current?.howToReachKeyring ?? DesktopEnvironment.howToInstallKeyring)
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

  static let name = "secret service"

  private func found(
    _ finding: String, remedy: String?, _ status: ExitStatus = .unavailable
  ) -> Check {
    isNeeded
      ? .problem(Self.name, finding, remedy: remedy, status)
      : .note(Self.name, finding, remedy: remedy)
  }

  /// The keyrings without a password, which gnome-keyring writes as plain text.
  private var plainKeyrings: [Check] {
    // The machine's checks report a home directory that cannot be found.
    guard let data = try? UserDirectory.data.path else { return [] }
    let directory = "\(data)/keyrings"
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

  /// A note about `SECRET_BACKEND`, which redirects other programs that use libsecret; this library
  /// ignores it.
  private var backend: Check? {
    guard let backend = ProcessInfo.processInfo.environment["SECRET_BACKEND"], backend != "service"
    else { return nil }
    return .note(
      "secret backend",
      "SECRET_BACKEND=\(backend) redirects other programs; session-tools uses the service",
      remedy: "unset SECRET_BACKEND")
  }
}

extension ProviderProgram {
  /// How a person makes a collection in this provider, without replacing it with another.
  fileprivate var howToMakeCollection: String {
    switch self {
    case .gnomeKeyring:
      "seahorse, or gnome-keyring-daemon --replace --unlock --components=secrets, which reads a "
        + "password from standard input"
    case .keePassXC:
      "keepassxc, and choose the group that Secret Service Integration exposes in the settings of "
        + "a database"
    case .kWallet: "kwalletmanager5, and make a wallet there; then log in again"
    case .other(let name): "make one in the window of \(name)"
    }
  }
}

private enum DesktopEnvironment {
  /// How a person installs the provider that belongs to the desktop.
  static var howToInstallKeyring: String {
    isKDE
      ? "sudo apt-get install libpam-kwallet5, turn KWallet on in System Settings, and log in again"
      : "sudo apt-get install gnome-keyring, and log in again"
  }

  private static var isKDE: Bool {
    let names = ProcessInfo.processInfo.environment["XDG_CURRENT_DESKTOP"] ?? ""
    return names.split(separator: ":").contains("KDE")
  }
}
