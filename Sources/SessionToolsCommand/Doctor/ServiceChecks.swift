import Foundation
import SecretServiceStore
import SessionToolsBase

/// The checks of a collection of the desktop's keyring: whether it can be used, and whether its
/// secrets are protected.
struct ServiceChecks {
  private let store: SecretServiceStore
  private let files = KeyringFiles()
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
    return [service] + files.checks
      + [backend, MigrationCheck.checkServices(timeout: .seconds(5))].compactMap(\.self)
  }

  private var service: Check {
    do throws(StoreError) {
      let availability = try store.waiting { store async throws(StoreError) in
        try await store.availability()
      }
      return try check(availability)
    } catch {
      // Another collection than the checked one may be locked.
      let about = error.store == store.collection.description ? "" : "\(error.store): "
      return found(
        about + error.reason, remedy: Remedy.typed(error).remedy, ExitStatus(error.code))
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
        remedy: howToMakeCollection(in: program))
    case .locked:
      return found(
        "\(try program): the collection is locked",
        remedy: "session-tools unlock secret-service:" + (store.collection.name?.shellQuoted ?? ""))
    case .unlocked:
      let program = try program
      guard isNeeded else {
        return .ok(Self.name, "\(program): the default collection is unlocked")
      }
      let count = try store.names(in: nil).count
      return .ok(Self.name, "\(program): unlocked, \(Size.count(count, "item")) of this library")
    }
  }

  /// How a person makes a collection in a provider, without replacing it with another.
  private func howToMakeCollection(in program: ProviderProgram) -> String {
    switch program {
    case .gnomeKeyring:
      store.collection.name.map { "seahorse, and make a keyring with the name '\($0)'" }
        ?? files.rejectedDefault?.howToRepair ?? files.howToMakeDefault
    case .keePassXC:
      "keepassxc, and choose the group that Secret Service Integration exposes in the settings of "
        + "a database"
    case .kWallet: "kwalletmanager5, and make a wallet there; then log in again"
    case .other(let name): "make one in the window of \(name)"
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
