import SealedStore
import ToolBase

/// The checks of the machine, which any store depends on.
enum MachineChecks {
  static func all() -> [Check] {
    [.ok("libsodium", "version \(KeyMemory.libraryVersion)"), keyMemory, coreDumps]
      + [KeyEnds.find().check]
      + SecurityKeyChecks.all()
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
