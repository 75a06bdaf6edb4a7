import CSessionToolsSodium
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import Testing

@Suite struct VectorTests {
  @Test func `there are vectors to run`() {
    #expect(Vector.all.count >= 300)
  }

  @Test(arguments: Vector.all)
  func `a store made by the other implementation is read as its vector says`(
    vector: Vector
  ) throws {
    let directory = try TemporaryDirectory()
    try vector.write(to: directory["store"])
    let notices = Notices()
    let options = SealedFileStore.Options(onNotice: { notices.add($0) })
    let store: SealedFileStore
    do throws(StoreError) {
      store = try SealedFileStore.open(
        at: directory["store"], key: vector.keySource, options: options)
    } catch {
      #expect(outcome(error) == vector.expectation)
      for read in vector.reads {
        #expect(read.value == .corrupt, "opening failed: \(error)")
      }
      #expect(vector.findings.subtracting(["header", "journal"]).isEmpty)
      return
    }
    #expect(listing(store, vector) == vector.expectation)
    for item in vector.items + vector.reads {
      #expect(answer(store, item.name, like: item.value) == item.value, "\(item.name)")
    }
    guard vector.expectation != "unsupported version" else {
      #expect(try code { _ = try store.verify() } == StoreError.unsupportedVersion)
      return
    }
    var found = Set(try store.verify().findings.map(\.part.vectorName)).subtracting(["files"])
    if notices.all.contains(where: \.isOfRecovery) {
      // Opening recovered the changes that the other implementation only reads, and wrote a mark.
      found.insert("tail")
      #expect(found == vector.findings.subtracting(["mark"]))
    } else {
      #expect(found == vector.findings)
    }
  }

  /// Returns the outcome of listing and reading all items.
  private func listing(_ store: SealedFileStore, _ vector: Vector) -> String {
    do throws(StoreError) {
      let names = try store.names(in: nil)
      for name in names { _ = try store.value(for: name) }
      if vector.expectation == "success" {
        #expect(names == vector.items.map(\.name).sorted())
      }
      return "success"
    } catch {
      return outcome(error)
    }
  }

  private func answer(
    _ store: SealedFileStore, _ name: ItemName, like expected: VectorHead.Answer
  ) -> VectorHead.Answer? {
    do throws(StoreError) {
      guard let value = try store.value(for: name) else { return .absent }
      if case .hash = expected { return .hash(blake2b(value.copyBytes())) }
      return .bytes(value.copyBytes())
    } catch {
      return error.code == .corrupt ? .corrupt : nil
    }
  }

  private func outcome(_ error: StoreError) -> String {
    switch error.code {
    case StoreError.wrongKey: "wrong key"
    case StoreError.corrupt: "corrupt"
    case StoreError.unsupportedVersion: "unsupported version"
    case StoreError.invalidKey: "refused"
    case StoreError.unavailable: "not found"
    default: "\(error)"
    }
  }

  private func blake2b(_ bytes: [UInt8]) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: 32)
    _ = unsafe crypto_generichash(&out, 32, bytes, UInt64(bytes.count), nil, 0)
    return out
  }
}

extension StoreNotice {
  /// Whether the notice reports bytes behind the mark.
  fileprivate var isOfRecovery: Bool {
    switch self {
    case .interruptedChangeFinished, .unfinishedWriteDropped: true
    default: false
    }
  }
}

extension VerificationReport.Part {
  fileprivate var vectorName: String {
    self == .headerCopy ? "header copy" : rawValue
  }
}
