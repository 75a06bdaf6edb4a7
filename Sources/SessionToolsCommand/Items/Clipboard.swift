import Foundation
import SessionToolsBase

/// The desktop's clipboard, through one of the programs that give access to it.
struct Clipboard {
  private let copying: [String]
  private let pasting: [String]
  private let clearing: [String]
  private let name: String
  private static let timeout = Duration.seconds(5)

  private init(_ name: String, copying: [String], pasting: [String], clearing: [String]) {
    self.name = name
    self.copying = copying
    self.pasting = pasting
    self.clearing = clearing
  }

  /// The program for Wayland (wl-copy(1)).
  private static let wayland = Clipboard(
    "wl-copy", copying: ["wl-copy"], pasting: ["wl-paste", "--no-newline"],
    clearing: ["wl-copy", "--clear"])
  private static let selection = ["xclip", "-selection", "clipboard"]
  /// The programs for X11 (xclip(1), xsel(1x)).
  private static let x11 = [
    Clipboard(
      "xclip", copying: selection + ["-in"], pasting: selection + ["-out"],
      clearing: selection + ["-in"]),
    Clipboard(
      "xsel", copying: ["xsel", "--clipboard", "--input"],
      pasting: ["xsel", "--clipboard", "--output"], clearing: ["xsel", "--clipboard", "--clear"]),
  ]

  /// Returns the clipboard of this session.
  ///
  /// - Throws: A failure if there is no desktop, or no program for its clipboard.
  static func ofSession() throws -> Clipboard {
    let environment = ProcessInfo.processInfo.environment
    func isSet(_ variable: String) -> Bool { !(environment[variable] ?? "").isEmpty }
    let possible =
      (isSet("WAYLAND_DISPLAY") ? [wayland] : []) + (isSet("DISPLAY") ? x11 : [])
    guard !possible.isEmpty else {
      throw Failure(
        .unavailable, "there is no desktop: neither WAYLAND_DISPLAY nor DISPLAY is set")
    }
    guard let found = possible.first(where: { Files.program($0.name) != nil }) else {
      throw Failure(
        .unavailable,
        "no program for the clipboard was found; install "
          + possible.map(\.name).joined(separator: " or "))
    }
    return found
  }

  /// Puts a value into the clipboard.
  ///
  /// - Throws: A failure if the program fails; `io`.
  func copy(_ value: SecretBytes) throws {
    try run(copying, input: value)
  }

  /// Empties the clipboard if it still has the value.
  ///
  /// - Returns: Whether it had the value.
  /// - Throws: As ``copy(_:)``.
  func clear(ifIs value: SecretBytes) throws -> Bool {
    guard try isContent(value) else { return false }
    try run(clearing, input: SecretBytes(utf8: ""))
    return true
  }

  private func isContent(_ value: SecretBytes) throws -> Bool {
    let program = LimitedProgram(
      pasting[0], Array(pasting.dropFirst()), maximumOutputByteCount: value.byteCount,
      timeout: Self.timeout)
    let outcome: LimitedProgram.Ending
    do throws(SystemCallError) {
      outcome = try program.run()
    } catch {
      throw StoreError(error, path: pasting[0])
    }
    switch outcome {
    case .ended(status: 0?, output: let content, complaint: _): return content == value
    case .tookTooLong:
      throw Failure(
        .failure, "\(pasting[0]) does not answer; the clipboard may still have the value")
    // An empty clipboard, or one without text, is an error for these programs; more content is
    // another value.
    default: return false
    }
  }

  /// Runs a program that stays in the background afterwards, to answer those that paste.
  ///
  /// It gets no output of this process, whose readers would wait for its end.
  private func run(_ words: [String], input: SecretBytes) throws {
    let status: Int32?
    do throws(SystemCallError) {
      let file = try MemoryFile(input)
      let program = try StartedProgram(
        words[0], Array(words.dropFirst()),
        streams: StartedProgram.Streams(input: file.descriptor))
      // Without a limit, a desktop that hangs would keep Ctrl-C from ending this process.
      let end = ContinuousClock.now + Self.timeout
      while !program.hasEnded, ContinuousClock.now < end { Thread.sleep(forTimeInterval: 0.01) }
      if !program.hasEnded { program.end() }
      status = program.wait()
    } catch {
      throw StoreError(error, path: words[0])
    }
    guard status == 0 else {
      throw Failure(
        .failure,
        "the clipboard cannot be used: \(words.joined(separator: " ")) ended with status "
          + (status.map(String.init) ?? "unknown"))
    }
  }
}
