import Foundation
import SessionToolsBase

// One of several processes that request the same identifiers at the same time: prints "ready",
// waits for its input to end, then prints the identifier of each application.
let arguments = CommandLine.arguments
guard arguments.count == 3, let roundCount = Int(arguments[2]) else {
  fatalError("usage: InstallRacer <state directory> <number of applications>")
}
try FileHandle.standardOutput.write(contentsOf: Data("ready\n".utf8))
_ = try FileHandle.standardInput.readToEnd()
let lines = try (0..<roundCount).map { round in
  try InstallIdentifier.current(application: "app\(round)", stateDirectory: arguments[1]).rawValue
    + "\n"
}
try FileHandle.standardOutput.write(contentsOf: Data(lines.joined().utf8))
