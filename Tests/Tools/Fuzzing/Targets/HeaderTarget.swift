import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// A header with one of several copies; the input decides whether checksum and MAC are right.
enum HeaderTarget {
  static func check(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let choice = input.byte()
    let header = header(&input, isRaw: choice & 4 != 0)
    var file = KnownStore.finished(header)
    if choice & 1 != 0 { file[header.count] ^= 1 }
    if choice & 2 != 0 { file[file.count - 1] ^= 1 }
    var files = KnownStore.files(
      journal: KnownStore.journalHead(), mark: KnownStore.firstMark)
    files["header"] = choice & 8 == 0 ? file : [UInt8](file.dropLast())
    switch choice >> 4 & 3 {
    case 0: files["header.copy"] = file
    case 1: files["header.copy"] = nil
    case 2: files["header.copy"] = header
    default: break
    }
    try check(files)
  }

  private static func header(_ input: inout FuzzInput, isRaw: Bool) -> [UInt8] {
    if isRaw { return input.remaining() }
    let opening = Int(input.byte())
    let count = Int(input.byte() % 19)
    var slots: [[UInt8]] = []
    for position in 0..<count {
      let kind = position == opening ? 1 : UInt16(input.byte())
      let length = kind == 2 ? 24 : input.word() % 4200
      slots.append(KnownStore.slot(kind: kind, parameters: input.bytes(length)))
    }
    var header = KnownStore.header(slots: slots)
    while !input.isEmpty {
      let offset = input.word() % header.count
      header[offset] ^= input.byte()
    }
    return header
  }

  private static func check(_ files: [String: [UInt8]]) throws {
    let (expected, used) = HeaderJudgement.judge(files)
    let disk = try KnownStore.disk(files)
    let store: SealedFileStore
    do throws(StoreError) {
      store = try KnownStore.open(disk)
    } catch {
      try require(error.code == expected, "\(error) instead of \(expected as Any)")
      try require(error.store.hasPrefix(KnownStore.path), "\(error) names no file")
      try require(error.remedy != nil, "\(error) does not say what to do")
      try require(try KnownStore.files(of: disk) == files, "opening changed something")
      try require(disk.descriptorCount == 0, "\(disk.descriptorCount) files stay open")
      return
    }
    try require(expected == nil, "the store opens, but should throw \(expected as Any)")
    let slots = try store.keySlots()
    try require(slots.count == Int(used.integer(at: 10, byteCount: 2)), "\(slots.count) slots")
    try require(slots.allSatisfy { "\($0)".count > 0 }, "no description")
    try checkRewriting(store, disk, slots.count, used)
  }

  /// Checks that adding and removing a slot restores the headers that were read.
  private static func checkRewriting(
    _ store: SealedFileStore, _ disk: MemoryFileSystem, _ count: Int, _ used: [UInt8]
  ) throws {
    let code = code { () throws(StoreError) in try store.addSlot(KnownStore.key()) }
    guard count < 16 else {
      return try require(code == StoreError.invalidKey, "a 17th slot gave \(code as Any)")
    }
    try require(code == nil, "no slot could be added: \(code as Any)")
    let changed = try KnownStore.files(of: disk)
    try require(changed["header"] != used, "a slot was added, but the header is the same")
    try store.removeSlot(count + 1)
    let restored = try KnownStore.files(of: disk)
    for name in ["header", "header.copy"] {
      try require(restored[name] == used, "\(name) was not restored")
    }
  }
}
