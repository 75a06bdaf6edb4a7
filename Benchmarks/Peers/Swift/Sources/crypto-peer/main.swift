import Glibc

// A file per item, in one directory, sealed by swift-crypto; ../../../README.md has the protocol.

let arguments = CommandLine.arguments.dropFirst()
let algorithm = arguments.first.flatMap(Algorithm.init(rawValue:))

do throws(Failure) {
  guard let algorithm else { throw .usage }
  try Command(arguments.dropFirst()).run(algorithm)
} catch {
  StandardError.say(error.text(by: algorithm?.peerName ?? "crypto-peer"))
  exit(error.status)
}
