import Foundation
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

/// The history of a process that was killed while it wrote.
@Suite struct HistoryFileTests {
  @Test func `a change that was begun stays, wherever the file ends after it`() throws {
    let directory = try TemporaryDirectory()
    let log = try HistoryLog(in: URL(filePath: directory.path), client: 1)
    let file = URL(filePath: "\(directory.path)/1-0")
    let seen = HistoryOperation(.observation, .zero, invoked: 1, responded: 2)
    let begun = HistoryOperation(.change, .one, invoked: 3, responded: .max)
    let made = HistoryOperation(.change, .one, invoked: 3, responded: 4)
    let others = [[HistoryOperation]](repeating: [], count: SharedItems.groupCount - 1)

    try log.begin(begun, ofGroup: 0)
    let beginning = try Data(contentsOf: file).count
    try log.update([[seen, made]] + others)
    let bytes = try Data(contentsOf: file)
    #expect(try HistoryFile.read(file) == [seen, made])
    for count in 0..<bytes.count {
      try bytes.prefix(count).write(to: file)
      #expect(try HistoryFile.read(file) == (count < beginning ? [] : [begun]), "\(count) bytes")
    }
  }

  @Test func `a change that was begun and not made goes`() throws {
    let directory = try TemporaryDirectory()
    let log = try HistoryLog(in: URL(filePath: directory.path), client: 1)
    let begun = HistoryOperation(.change, .one, invoked: 3, responded: .max)
    try log.begin(begun, ofGroup: 0)
    try log.update([[HistoryOperation]](repeating: [], count: SharedItems.groupCount))
    #expect(try HistoryFile.read(URL(filePath: "\(directory.path)/1-0")).isEmpty)
  }
}
