import SecurityKeys
import SessionToolsBase
import ToolBase

/// The checks of the security keys that are plugged in.
enum SecurityKeyChecks {
  private static let name = "FIDO2 keys"

  static func all() -> [Check] {
    if let problem = SharedLibrary.fido2.problem {
      return [.note(name, problem, remedy: SharedLibrary.fido2.remedy)]
    }
    let library = "libfido2 \(SharedLibrary.fido2.version ?? "of an unknown version")"
    do throws(StoreError) {
      let devices = try SecurityKey.connected()
      guard !devices.isEmpty else { return [.ok(name, "\(library); none is plugged in")] }
      return devices.map { check($0, library) }
    } catch {
      return [.note(name, "\(library); \(error.reason)", remedy: error.remedy)]
    }
  }

  private static func check(_ device: SecurityKeyDevice, _ library: String) -> Check {
    let finding = "\(library); \(device.product) at \(device.path)"
    guard device.supportsSecrets else {
      return .note(name, "\(finding) opens no store: it computes no secrets (hmac-secret)")
    }
    guard device.hasPIN || device.verifiesItself else {
      return .note(
        name, "\(finding) has no PIN: only slots for a touch alone can be made",
        remedy: "fido2-token -S \(device.path.shellQuoted)")
    }
    return .ok(
      name, "\(finding) has " + (device.verifiesItself ? "a fingerprint reader" : "a PIN"))
  }
}
