import CSessionToolsLibFuzzer
import Foundation
import SessionToolsFuzzTargets
import SessionToolsProgramFuzzTargets

// Runs libFuzzer on the target that FUZZ_TARGET names; if it is not set, lists all targets.
let targets = FuzzTarget.store + FuzzTarget.program
guard let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] else {
  for target in targets { print("\(target.name) \(target.maximumByteCount)") }
  exit(0)
}
guard let found = targets.first(where: { $0.name == name }) else {
  print("there is no target \(name)")
  exit(2)
}
/// The target, which is global because a C callback cannot capture anything.
let target = found

var count = CommandLine.argc
// The arguments as main gets them, with a null at the end; libFuzzer keeps them permanently.
var arguments = unsafe CommandLine.arguments.map { unsafe strdup($0) } + [nil]
let status = unsafe arguments.withUnsafeMutableBufferPointer { buffer in
  var start = buffer.baseAddress
  return unsafe LLVMFuzzerRunDriver(&count, &start) { data, byteCount in
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: byteCount))
    do {
      try target.check(bytes)
    } catch {
      fatalError("finding: \(error)")
    }
    return 0
  }
}
exit(status)
