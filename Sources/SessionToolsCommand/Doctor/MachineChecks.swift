import SealedStore
import SecurityKeys
import SessionToolsBase

/// The checks of the machine, which any store depends on.
enum MachineChecks {
  static func all() -> [Check] {
    ofAnyStore + [homeDirectory, notifications, KeyEnds.find().check].compactMap(\.self)
      + SecurityKeyChecks.all()
  }

  /// The checks of what a store in a database depends on, too.
  static var ofAnyStore: [Check] {
    [.ok("libsodium", "version \(KeyMemory.libraryVersion)"), keyMemory, coreDumps]
  }

  /// The problem that there is no place for keychains and key files, or a note that none can be
  /// made there; `nil` if all is well.
  private static var homeDirectory: Check? {
    let path: String
    do throws(StoreError) {
      path = "\(try UserDirectory.data.path)/session-tools"
    } catch {
      return .problem("home directory", error.reason, remedy: error.remedy, ExitStatus(error.code))
    }
    do throws(StoreError) {
      try LinuxFileSystem().checkMakingDirectories(path)
      return nil
    } catch {
      return .note(
        "home directory", "keychains and key files would be in \(path): \(error.reason)",
        remedy: error.remedy)
    }
  }

  /// A note that changes by other programs are found late; `nil` where the kernel reports them.
  private static var notifications: Check? {
    do throws(StoreError) {
      _ = try DirectoryNotifications("/")
      return nil
    } catch {
      return .note(
        "changes", "\(error.reason); programs find each other's changes up to 2 s later",
        remedy: error.remedy)
    }
  }

  private static var keyMemory: Check {
    let limit = System.lockedMemoryLimit.map { Size.text(Int(clamping: $0)) } ?? "none"
    return KeyMemory.canBeLocked
      ? .ok("key memory", "keys are kept out of swap (limit of locked memory: \(limit))")
      : .problem(
        "key memory", "keys may reach swap (limit of locked memory: \(limit))",
        remedy: "ulimit -l 1024, or LimitMEMLOCK=1M in a systemd unit")
  }

  private static var coreDumps: Check {
    System.coreDumpLimit == 0
      ? .ok("core dumps", "off")
      : .note(
        "core dumps", "off in session-tools; a program of yours that crashes may dump its keys",
        remedy: "ulimit -c 0, or LimitCORE=0 in a systemd unit")
  }
}

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
