import SessionToolsBase
import SessionToolsCommand
import StoreMigration
import Testing

/// Lines of JSON, in which nothing is lost without an error.
@Suite struct PlainItemsTests {
  private func items(_ text: String) throws -> [String: String] {
    let items = try PlainItems.items(SecretBytes(utf8: text), name: "lines")
    var values: [String: String] = [:]
    for name in try items.listing().names {
      let value = try items.value(for: name)?.copyBytes() ?? []
      values[name.identifier] = String(decoding: value, as: UTF8.self)
    }
    return values
  }

  @Test(arguments: ["\n", "\r\n", "\n\n", "\r\n \t\r\n", " \n"])
  func `lines may end as in any system, and empty ones are skipped`(_ end: String) throws {
    let lines =
      #"{"service":"s","identifier":"a","value":"1"}"# + end
      + #" {"identifier":"b","service":"s","group":null,"value":"a\u0022,\u007b"} "# + end
    #expect(try items(lines) == ["a": "1", "b": "a\",{"])
    #expect(try items(end).isEmpty)
  }

  @Test func `the mark before UTF-8 is skipped, and UTF-16 is named`() throws {
    let line = #"{"service":"s","identifier":"a","value":"\#u{FEFF}1"}"#
    #expect(try items("\u{FEFF}" + line + "\r\n") == ["a": "\u{FEFF}1"])
    #expect(try items("\u{FEFF}\r\n").isEmpty)
    let units = line.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
    let wide = SecretBytes([0xFF, 0xFE] + units)
    let error = #expect(throws: StoreError.self) { try PlainItems.items(wide, name: "lines") }
    #expect(error?.description.contains("iconv -f UTF-16 -t UTF-8") == true)
  }

  @Test(arguments: [
    (#"{"service":"s","identifier":"a","value":"1","notes":"lost"}"#, "member notes is unknown"),
    (#"{"service":"s","identifer":"a","value":"1"}"#, "the member identifer is unknown"),
    (#"{"service":"s","identifier":"a","value":"1","more":{"value":["x"]}}"#, "more is unknown"),
    (#"{"service":"s","identifier":"a","value":"1","value":"2"}"#, "value is there twice"),
    (#"{"service":"s","identifier":"a","value":"1","val\u0075e":"1"}"#, "value is there twice"),
    (#"{"service":"s","x\u001b":"a","value":"1"}"#, #"the member x\u{1b} is unknown"#),
    (#"{"service":"s","identifier":"a","value":"1","base64":"MQ=="}"#, "both value and base64"),
    (#"{"service":"s","identifier":"a"}"#, "neither value nor base64"),
    (#"{"service":"s","identifier":"a","value":geheim}"#, "not an object in JSON"),
    (#"["geheim"]"#, "not an object in JSON"),
    (#"{"service":"s","identifier":"a","value":5}"#, "as texts"),
    (#"{"service":"s","identifier":"a","base64":"geheim!"}"#, "as texts"),
  ])
  func `a line that would lose something is refused by its number`(
    _ line: String, _ reason: String
  ) {
    let text = #"{"service":"s","identifier":"z","value":"1"}"# + "\n\n" + line + "\n"
    let error = #expect(throws: StoreError.self) { try items(text) }
    #expect(error?.code == .undecodable)
    let shown = error?.description ?? ""
    #expect(shown.contains("lines, line 3") && shown.contains(reason), "\(shown)")
    #expect(!shown.contains("geheim") && !shown.contains("lost"))
  }
}
