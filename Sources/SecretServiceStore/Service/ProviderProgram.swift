import SessionToolsDBus
import Foundation
package import SecretStores

/// The program that provides the service.
package enum ProviderProgram: Hashable, Sendable, CustomStringConvertible {
  case gnomeKeyring, keePassXC, kWallet
  /// Another program, by the name of its file.
  case other(String)

  /// The programs' other names on the bus.
  fileprivate static let busNames: [(name: String, program: ProviderProgram)] =
    [("org.gnome.keyring", .gnomeKeyring), ("org.keepassxc.KeePassXC.MainWindow", .keePassXC)]
    + OpenWallet.services.map { ($0.name, .kWallet) }

  package var description: String {
    switch self {
    case .gnomeKeyring: "gnome-keyring"
    case .keePassXC: "KeePassXC"
    case .kWallet: "KWallet"
    case .other(let name): name
    }
  }
}

extension Provider {
  /// Returns the provider's program.
  ///
  /// - Throws: `DBusError`.
  func program(until deadline: Deadline) async throws(DBusError) -> ProviderProgram {
    for (name, program) in ProviderProgram.busNames {
      if try await connection.owner(of: name, until: deadline) == self.name { return program }
    }
    // For a process that cannot be inspected, because it is another user's, only the number is
    // known.
    let number = try await connection.process(of: name, timeout: deadline.left)
    let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(number)/exe")
    return .other(path.map { URL(filePath: $0).lastPathComponent } ?? "process \(number)")
  }
}

extension SecretServiceStore {
  /// Returns the program that provides the service, which is started if the bus can.
  ///
  /// - Throws: `unavailable` when there is no bus or no provider; `timedOut` or `cancelled`.
  package func providerProgram() async throws(StoreError) -> ProviderProgram {
    let deadline = Deadline(in: options.timeout)
    do throws(DBusError) {
      let provider = try await Provider(
        on: bus.connect(until: deadline), of: bus, until: deadline)
      return try await provider.program(until: deadline)
    } catch {
      throw storeError(error)
    }
  }
}
