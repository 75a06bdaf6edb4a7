import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The questions that keep a person from losing a value.
@Suite(.onOwnThread, .serialized) struct QuestionTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    let made = try tool.run(
      "session-tools init store && printf old | session-tools set store --service mail token")
    try #require(made.status == 0)
  }

  private var value: String {
    get throws { try tool.run("session-tools get store --service mail token").text }
  }

  private func begin(_ command: String, _ options: String...) throws -> PseudoTerminal {
    try PseudoTerminal(
      tool, [Tool.program, command, "store", "--service", "mail", "token"] + options)
  }

  @Test func aValueIsReplacedAfterAYes() throws {
    let terminal = try begin("set")
    #expect(terminal.shows("token of mail already exists. Replace it? [y/N] "))
    terminal.type("y\n")
    for question in ["Value of token of mail: ", "Repeat the value: "] {
      #expect(terminal.shows(question))
      terminal.type("new\n")
    }
    #expect(terminal.end() == 0)
    #expect(terminal.text.contains("store: token of mail replaced"))
    #expect(try value == "new")
  }

  @Test(arguments: ["n", "", "yes please"])
  func aValueStaysWithoutAYes(_ answer: String) throws {
    let terminal = try begin("set")
    #expect(terminal.shows("Replace it? [y/N] "))
    terminal.type(answer + "\n")
    #expect(terminal.end() == 1)
    #expect(try value == "old")
  }

  @Test func forceReplacesWithoutAQuestion() throws {
    let terminal = try begin("set", "--force")
    for question in ["Value of token of mail: ", "Repeat the value: "] {
      #expect(terminal.shows(question))
      terminal.type("new\n")
    }
    #expect(terminal.end() == 0)
    #expect(!terminal.text.contains("[y/N]"))
    #expect(try value == "new")
  }

  @Test func twoDifferentValuesChangeNothing() throws {
    let terminal = try begin("set", "--force")
    #expect(terminal.shows("Value of token of mail: "))
    terminal.type("one\n")
    #expect(terminal.shows("Repeat the value: "))
    terminal.type("two\n")
    #expect(terminal.end() == 64)
    #expect(try value == "old")
  }

  @Test func anEmptyLineChangesNothing() throws {
    let terminal = try begin("set", "--force")
    #expect(terminal.shows("Value of token of mail: "))
    terminal.type("\n")
    #expect(terminal.end() == 64)
    #expect(terminal.text.contains("give --empty"))
    #expect(try value == "old")
  }

  @Test func aValueStoredAfterTheQuestionIsNotReplaced() throws {
    try tool.run("session-tools remove store --service mail token")
    let terminal = try begin("set")
    #expect(terminal.shows("Value of token of mail: "))
    try tool.run("printf theirs | session-tools set store --service mail token")
    terminal.type("mine\n")
    #expect(terminal.shows("Repeat the value: "))
    terminal.type("mine\n")
    #expect(terminal.end() == 7)
    #expect(try value == "theirs")
  }

  @Test(arguments: [("y", 0 as Int32), ("n", 1), ("", 1)])
  func removingAsksFirst(_ answer: String, status: Int32) throws {
    let terminal = try begin("remove")
    #expect(terminal.shows("Remove token of mail? [y/N] "))
    terminal.type(answer + "\n")
    #expect(terminal.end() == status)
    let isThere = try tool.run("session-tools get store --service mail token").status == 0
    #expect(isThere == (status != 0))
  }

  @Test func forceRemovesWithoutAQuestion() throws {
    let terminal = try begin("remove", "--force")
    #expect(terminal.end() == 0)
    #expect(!terminal.text.contains("[y/N]"))
    #expect(try tool.run("session-tools get store --service mail token").status == 3)
  }

  @Test func removingWithNoInputRemovesNothing() throws {
    let terminal = try begin("remove", "--no-input")
    #expect(terminal.end() == 64)
    #expect(try value == "old")
  }

  @Test func generatingSaysHowGoodAValueIs() throws {
    let terminal = try begin("generate", "--force", "--words", "8")
    #expect(terminal.end() == 0)
    #expect(terminal.text == "store: token of mail replaced; 82 bits of entropy\r\n")
  }
}
