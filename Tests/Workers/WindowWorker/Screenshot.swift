#if GTKScenes
import Foundation

/// What the display shows, as other programs see it.
enum Screenshot {
  /// The windows' colors that are on the display, in words.
  static var description: String {
    let colors = colors()
    return colors.isEmpty ? "-" : colors.joined(separator: "+")
  }

  private static func colors() -> [String] {
    let isWayland = ProcessInfo.processInfo.environment["WAYLAND_DISPLAY"] != nil
    // Both write the pixels as they are, after a short header.
    let pixels =
      isWayland
      ? output(of: "/usr/bin/grim", ["-t", "ppm", "-"])
      : output(of: "/usr/bin/xwd", ["-root", "-silent"])
    let colors: [(name: String, bytes: [UInt8])] = [
      ("red", isWayland ? [255, 0, 0] : [0, 0, 255]),
      ("yellow", isWayland ? [255, 255, 0] : [0, 255, 255]),
    ]
    // A row of pixels is found whatever the length of the header; neither color is the other one
    // shifted by a byte. Some of X's pixels have a fourth byte.
    let ends: [[UInt8]] = isWayland ? [[]] : [[], [0]]
    return colors.filter { color in
      ends.contains { end in
        pixels.range(of: Data((0..<30).flatMap { _ in color.bytes + end })) != nil
      }
    }.map(\.name)
  }

  private static func output(of program: String, _ arguments: [String]) -> Data {
    // X takes no picture while a window appears or disappears.
    for _ in 0..<100 {
      let process = Process()
      process.executableURL = URL(filePath: program)
      process.arguments = arguments
      let pipe = Pipe()
      process.standardOutput = pipe
      process.standardError = FileHandle.nullDevice
      do { try process.run() } catch { preconditionFailure("\(program): \(error)") }
      let data = pipe.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      if process.terminationStatus == 0 { return data }
    }
    preconditionFailure("\(program) takes no picture")
  }
}
#endif
