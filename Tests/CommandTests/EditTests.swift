import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// `edit` with the editors that people use.
@Suite(.onOwnThread, .serialized) struct EditTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    let made = try tool.run(
      "session-tools init store && printf geheim | session-tools set store --service mail token")
    try #require(made.status == 0)
  }

  private var value: String {
    get throws { try tool.run("session-tools get store --service mail token").text }
  }

  private func edit(with editor: String) throws -> PseudoTerminal {
    try PseudoTerminal(
      tool, "edit", "store", "--service", "mail", "token", environment: ["EDITOR": editor])
  }

  @Test func nanoChangesAValue() throws {
    let terminal = try edit(with: "nano")
    #expect(terminal.shows("GNU nano"))
    #expect(terminal.shows("geheim"))
    // Ctrl-X leaves; the file's name is confirmed.
    terminal.type("x\u{18}")
    #expect(terminal.shows("Save modified buffer"))
    terminal.type("y")
    // The question has other words in nano 8 than in nano 7.
    #expect(terminal.shows("Write"))
    #expect(terminal.shows("/proc/self/fd/"))
    terminal.type("\r")
    #expect(terminal.end() == 0)
    #expect(try value == "xgeheim")
  }

  @Test func vimChangesAValue() throws {
    let terminal = try edit(with: "vim.tiny")
    #expect(terminal.shows("geheim"))
    terminal.type(":s/geheim/offen/\r:wq\r")
    #expect(terminal.end() == 0)
    #expect(terminal.text.contains("store: token of mail replaced"))
    #expect(try value == "offen")
  }

  @Test func anEditorThatIsLeftChangesNothing() throws {
    let terminal = try edit(with: "vim.tiny")
    #expect(terminal.shows("geheim"))
    terminal.type(":s/geheim/offen/\r:q!\r")
    #expect(terminal.end() == 0)
    #expect(terminal.text.contains("store: token of mail is unchanged"))
    #expect(try value == "geheim")
  }

  /// Vim would write a swap file, and with these settings a backup and an undo file, too.
  @Test func noFileOnADiskGetsTheValue() throws {
    let home = tool["home"]
    try "set backup writebackup backupdir=\(home) directory=\(home) undofile undodir=\(home)".write(
      toFile: tool["home/.vimrc"], atomically: true, encoding: .utf8)
    let edited = try tool.run(
      #"printf 's/geheim/ganz-geheim/\nwq\n' | EDITOR='vim.tiny -u home/.vimrc -e -s' "#
        + "strace -f -e trace=?open,openat,?creat,?rename,linkat -o trace "
        + "session-tools edit store --service mail token")
    #expect(edited.status == 0, "\(edited.complaint)")
    #expect(try value == "ganz-geheim")
    // With these settings, and without the tool's options, it writes copies.
    let control = try tool.run(
      #"echo geheim > plain; printf 's/geheim/x/\nwq\n' | "#
        + "strace -e trace=openat -o control vim.tiny -u home/.vimrc -e -s plain; "
        + "grep -q 'home/plain.swp' control")
    #expect(control.status == 0, "\(control.complaint)")
    let trace = try String(contentsOf: URL(filePath: tool["trace"]), encoding: .utf8)
    let writes = trace.split(separator: "\n").filter { line in
      line.contains(#/O_WRONLY|O_RDWR|creat\(|rename\(|linkat\(/#) && !line.contains("= -1 ")
    }
    // The search works: the editor writes to the file in memory.
    let isMemory = { (line: Substring) in line.contains(#/\/proc\/(self|\d+)\/fd\/3"/#) }
    #expect(writes.contains(where: isMemory))
    let others = writes.filter { line in
      !isMemory(line)
        && !["\"/dev/", "\"lock\"", "\"journal\"", "\"mark\""].contains(where: line.contains)
    }
    #expect(others.isEmpty)
  }
}
