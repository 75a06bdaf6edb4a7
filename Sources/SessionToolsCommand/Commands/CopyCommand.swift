import ArgumentParser
import Foundation
import SessionToolsBase

/// `session-tools copy`.
struct CopyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy",
    abstract: "Copy a value to the desktop's clipboard for a while.",
    usage: "session-tools copy [<store>] <identifier> [--service <name>] [<options>]",
    discussion: """
      Uses wl-copy on Wayland, and xclip or xsel on X11; the value goes to its standard input. \
      The command waits for 45 seconds, or for the time of --for, and then clears the clipboard \
      if it still has the value. Ctrl-C clears it at once. Every program of the desktop can read \
      the clipboard meanwhile, and one that keeps a history of it keeps the value. Exit status 3 \
      when there is no such item, 4 when there is no clipboard.

      Example:
        session-tools copy ~/vault --service mail password --for 20
      """)

  @OptionGroup(title: "Item") var item: ItemOptions
  @OptionGroup var access: AccessOptions

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp(
      "How long the clipboard has the value; 0 leaves it there.", valueName: "seconds"))
  var seconds = 45

  func validate() throws {
    guard (0...86_400).contains(seconds) else {
      throw ValidationError("--for takes 0 to 86400 seconds.")
    }
  }

  func run() throws {
    let (name, location) = try item.resolved()
    let clipboard = try Clipboard.ofSession()
    let open = try access.openItems(at: location)
    guard let value = try open.value(for: name, as: "copy") else {
      throw Failure.noItem(name, in: location)
    }
    // Nothing needs the store's keys while the clipboard has the value.
    open.close()
    guard seconds > 0 else { return try clipboard.copy(value) }
    // A signal ends the waiting, not the clearing, and a second one right behind it does neither.
    try Interruption.duringShortWork {
      try clipboard.copy(value)
      if StandardError.isTerminal {
        StandardError.say("\(name) copied, for \(Size.count(seconds, "second"))")
      }
      let end = ContinuousClock.now + .seconds(seconds)
      while Interruption.signal == nil, ContinuousClock.now < end {
        Thread.sleep(forTimeInterval: 0.1)
      }
      let isCleared = try clipboard.clear(ifIs: value)
      if StandardError.isTerminal {
        StandardError.say(
          isCleared ? "clipboard cleared" : "the clipboard has no text, or another one, by now")
      }
      if Interruption.signal != nil { throw CancellationError() }
    }
  }
}
