import Foundation

// mutate SOURCES TARGET LIST FOLDER...: copies folders of sources with every mutant in them, and
// writes a list of the mutants, one JSON object per line. Each folder must be a different module.

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count > 3 else {
  print("usage: mutate SOURCES TARGET LIST FOLDER...")
  exit(2)
}
let places = arguments.prefix(3).map { URL(filePath: $0) }
let (sources, target, list) = (places[0], places[1], places[2])
let folders = arguments.dropFirst(3)

/// Writes a file unless it has the same text already, so that it is not compiled again.
func write(_ text: String, to file: URL) throws {
  if (try? String(contentsOf: file, encoding: .utf8)) == text { return }
  try FileManager.default.createDirectory(
    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
  try text.write(to: file, atomically: true, encoding: .utf8)
}

let names = folders.flatMap { folder in
  let found = FileManager.default.enumerator(atPath: sources.appending(path: folder).path)
  return found?.compactMap { ($0 as? String).map { "\(folder)/\($0)" } } ?? []
}
var mutants: [Mutant] = []
for name in names.filter({ $0.hasSuffix(".swift") }).sorted() {
  let source = try String(contentsOf: sources.appending(path: name), encoding: .utf8)
  var mutator = Mutator(source, file: name, firstNumber: mutants.count + 1)
  try write(mutator.mutated(), to: target.appending(path: name))
  mutants += mutator.mutants
}
let support = """
  import Glibc

  private let active: Int = {
    guard let text = unsafe getenv("SESSION_TOOLS_MUTANT") else { return 0 }
    return unsafe Int(String(cString: text)) ?? 0
  }()

  /// A byte for every mutant, in a file that all processes of a run share.
  ///
  /// It shows which mutants were reached, however the processes end.
  nonisolated(unsafe) private let reached: UnsafeMutablePointer<UInt8>? = {
    guard let path = unsafe getenv("SESSION_TOOLS_MUTANTS_REACHED") else { return nil }
    let file = unsafe open(path, O_RDWR | O_CLOEXEC)
    defer { _ = close(file) }
    let byteCount = Int(lseek(file, 0, SEEK_END))
    guard byteCount > 0 else { return nil }
    let start = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    return unsafe start == MAP_FAILED ? nil : start?.assumingMemoryBound(to: UInt8.self)
  }()

  /// Returns whether a mutant is active, and records that it was reached.
  @usableFromInline func mutated(_ number: Int) -> Bool {
    unsafe reached?[number] = 1
    return number == active
  }

  """
for folder in folders { try write(support, to: target.appending(path: "\(folder)/Mutated.swift")) }

let encoder = JSONEncoder()
encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
let lines = try mutants.map { String(decoding: try encoder.encode($0), as: UTF8.self) + "\n" }
try write(lines.joined(), to: list)
print("\(mutants.count) mutants in \(Set(mutants.map(\.file)).count) files")
