import CLibFuzzer
import Foundation
import FuzzTargets
import ProgramFuzzTargets

// Runs libFuzzer on the target that FUZZ_TARGET names; without one it lists them.
let targets = FuzzTarget.store + FuzzTarget.program
guard let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] else {
  for target in targets { print("\(target.name) \(target.largestByteCount)") }
  exit(0)
}
guard let found = targets.first(where: { $0.name == name }) else {
  print("there is no target \(name)")
  exit(2)
}
/// A global, because a C callback captures nothing.
let target = found

var count = CommandLine.argc
// As main gets them: with a null behind the last; libFuzzer keeps them for good.
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
