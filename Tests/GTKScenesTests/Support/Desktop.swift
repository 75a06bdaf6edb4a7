#if GTKScenes
import Foundation
import SessionToolsTestSupport

/// An invisible desktop with a keyboard: an X server with a window manager, or a Wayland
/// compositor.
final class Desktop: Sendable {
  enum Kind: String, CaseIterable, Sendable {
    case x11, wayland
  }

  struct NotInstalled: Error {
    let path: String
    let remedy = "Tests/run installs it"
  }

  let kind: Kind
  /// The environment of its programs.
  let environment: [String: String]
  private let directory: TemporaryDirectory
  private let programs: [Child]

  init(_ kind: Kind, accessibleOn bus: String? = nil) async throws {
    self.kind = kind
    directory = try TemporaryDirectory()
    var environment = [
      "PATH": "/usr/bin:/bin", "HOME": directory.path, "XDG_RUNTIME_DIR": directory.path,
      "LC_ALL": "C.UTF-8", "GDK_BACKEND": kind.rawValue, "GSK_RENDERER": "cairo",
      // What GTK regards as a mistake of its caller ends the program.
      "G_DEBUG": "fatal-warnings", "GTK_A11Y": bus == nil ? "none" : "atspi",
    ]
    environment["DBUS_SESSION_BUS_ADDRESS"] = bus
    switch kind {
    case .x11: programs = try await Self.startX(&environment)
    case .wayland: programs = try await Self.startWayland(&environment, in: directory)
    }
    self.environment = environment
  }

  deinit {
    // The server ends last, or the window manager would complain.
    for program in programs.reversed() {
      program.kill()
      program.waitUntilExit()
    }
  }

  private static func start(
    _ program: String, _ arguments: [String], _ environment: [String: String],
    output: Int32? = nil
  ) throws -> Child {
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw NotInstalled(path: program)
    }
    return try Child(program, arguments, environment: environment, output: output)
  }

  private static func startX(_ environment: inout [String: String]) async throws -> [Child] {
    let output = try ClosedPipe()
    let server = try start(
      "/usr/bin/Xvfb",
      // Otherwise it starts again when its only client leaves, which ends those that just came.
      ["-displayfd", "1", "-screen", "0", "1000x700x24", "-nolisten", "tcp", "-noreset"],
      environment, output: output.writer.fileDescriptor)
    try output.writer.close()
    // The server chooses a free number, and writes it when programs may connect.
    var line = Data()
    while line.last != UInt8(ascii: "\n"), let byte = try output.reader.read(upToCount: 1) {
      line += byte
    }
    environment["DISPLAY"] = ":" + String(decoding: line.dropLast(), as: UTF8.self)
    let manager = try start("/usr/bin/openbox", [], environment)
    try await wait(until: "the window manager is there") { [environment] in
      guard manager.isRunning else { throw NeverHappened(what: "openbox keeps running") }
      return try await Program.run(
        "/usr/bin/xprop", ["-root", "_NET_SUPPORTING_WM_CHECK"], environment: environment
      ).contains("#")
    }
    return [server, manager]
  }

  private static func startWayland(
    _ environment: inout [String: String], in directory: TemporaryDirectory
  ) async throws -> [Child] {
    let settings = """
      output HEADLESS-1 resolution 1000x700
      default_border none
      xwayland disable
      """
    try settings.write(toFile: directory["sway"], atomically: true, encoding: .utf8)
    // It refuses to be root, which a new namespace hides.
    let arguments = ["/usr/bin/sway", "--config", directory["sway"]]
    let prefix = getuid() == 0 ? ["/usr/bin/unshare", "--user"] : []
    let command = prefix + arguments
    let compositor = try start(
      command[0], Array(command.dropFirst()),
      environment.merging([
        "WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman",
      ]) { $1 })
    let find = { (prefix: String) in
      try FileManager.default.contentsOfDirectory(atPath: directory.path)
        .first { $0.hasPrefix(prefix) && !$0.hasSuffix(".lock") }
    }
    try await wait(until: "the compositor is there") {
      guard compositor.isRunning else { throw NeverHappened(what: "sway keeps running") }
      return try find("wayland-") != nil && find("sway-ipc") != nil
    }
    environment["WAYLAND_DISPLAY"] = try find("wayland-")
    environment["SWAYSOCK"] = try find("sway-ipc").map { directory[$0] }
    // A keyboard that exists as long as this program sleeps.
    let keyboard = try start("/usr/bin/wtype", ["-s", "2000000", "-k", "Escape"], environment)
    return [compositor, keyboard]
  }

  // MARK: - The person

  /// Types a text into the window that has the focus.
  func type(_ text: String) async throws {
    switch kind {
    case .x11: try await run("xdotool", "type", "--delay", "5", text)
    case .wayland: try await run("wtype", text)
    }
  }

  /// Presses a key, with modifiers: `shift`, `ctrl`, `alt`.
  func press(_ key: String, with modifiers: String...) async throws {
    try await press(key, with: modifiers)
  }

  func press(_ key: String, with modifiers: [String]) async throws {
    switch kind {
    case .x11: try await run("xdotool", "key", (modifiers + [key]).joined(separator: "+"))
    case .wayland:
      try await run(
        "wtype",
        modifiers.flatMap { ["-M", $0] } + ["-k", key] + modifiers.flatMap { ["-m", $0] })
    }
  }

  /// Gives the focus to a window.
  func focus(_ title: String) async throws {
    switch kind {
    case .x11:
      try await perform("windowactivate", on: title)
      // The window manager does it later, and keys would go to the other window until then.
      try await wait(until: "\(title) has the focus") {
        (try? await run("xdotool", "getactivewindow", "getwindowname")) == title + "\n"
      }
    case .wayland: try await run("swaymsg", "[title=\"^\(title)$\"] focus")
    }
  }

  /// Minimizes a window, which only X servers can.
  func minimize(_ title: String) async throws { try await perform("windowminimize", on: title) }

  /// Moves the pointer into a window, which only X servers can.
  func point(at title: String, _ x: Int, _ y: Int) async throws {
    try await perform("mousemove", "--window", "%1", "\(x)", "\(y)", on: title)
  }

  /// Presses or releases a key or the pointer's button, which only X servers can: `keydown`,
  /// `keyup`, `mousedown`, `mouseup`.
  func hold(_ action: String, _ what: String) async throws {
    try await run("xdotool", action, what)
  }

  /// Returns the number of a program's windows and other surfaces, on X servers only.
  func surfaceCount(of program: String) async throws -> Int {
    try await run("xdotool", "search", "--onlyvisible", "--class", "^\(program)$")
      .split(separator: "\n").count
  }

  /// Lets `xdotool` do something with a window, when there is one to be found.
  ///
  /// It fails while any window of the display appears or disappears.
  private func perform(_ words: String..., on title: String) async throws {
    try await wait(until: "\(words[0]) of \(title)") {
      do {
        try await run("xdotool", ["search", "--name", "^\(title)$"] + words)
        return true
      } catch is Program.Failure {
        return false
      }
    }
  }

  @discardableResult
  private func run(_ program: String, _ arguments: String...) async throws -> String {
    try await run(program, arguments)
  }

  @discardableResult
  private func run(_ program: String, _ arguments: [String]) async throws -> String {
    try await Program.run("/usr/bin/\(program)", arguments, environment: environment)
  }

  /// Returns a path in the person's home.
  subscript(name: String) -> String { directory[name] }

  /// Makes a program the person's browser.
  func setBrowser(_ program: String) throws {
    try write(
      "[Desktop Entry]\nType=Application\nName=Browser\nExec=\(program) %u\n",
      to: ".local/share/applications/browser.desktop")
    try write(
      "[Default Applications]\nx-scheme-handler/http=browser.desktop\n",
      to: ".config/mimeapps.list")
  }

  /// Writes a file of the person's settings.
  func write(_ text: String, to path: String) throws {
    let file = URL(filePath: directory[path])
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: file, atomically: true, encoding: .utf8)
  }
}
#endif
