import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct DatabaseVectorTests {
  @Test func `there are vectors to run`() {
    #expect(DatabaseVector.all.count >= 90)
  }

  @Test(arguments: DatabaseVector.all)
  func `rows that the other implementation sealed are read as their vector says`(
    vector: DatabaseVector
  ) throws {
    let keys: DatabaseKeys
    do throws(StoreError) {
      keys = try vector.header.header(of: "vector").open(with: vector.keySource, of: "vector").keys
    } catch {
      #expect(outcome(error) == vector.expectation)
      #expect(vector.items.isEmpty && vector.reads.isEmpty)
      return
    }
    let opener = RowOpener(keys: keys, of: "vector")
    #expect(listing(vector, opener) == vector.expectation)
    for (key, expected) in vector.items + vector.reads {
      let answer = try answer(vector, key, keys, opener, like: expected)
      #expect(answer == expected, "\(key)")
    }
  }

  /// Returns the outcome of opening all rows.
  private func listing(_ vector: DatabaseVector, _ opener: RowOpener) -> String {
    var reader = CanonicalNameReader()
    var names: [ItemName] = []
    do throws(StoreError) {
      for row in vector.rows {
        guard let sealed = row.sealed else { return "corrupt" }
        let (name, value) = try opener.item(of: sealed, by: &reader)
        if value != nil { names.append(name) }
      }
    } catch {
      return outcome(error)
    }
    if vector.expectation == "success" {
      #expect(names.sorted() == vector.items.map(\.name).sorted())
    }
    return "success"
  }

  /// Returns the answer for one item, from the row at its address.
  private func answer(
    _ vector: DatabaseVector, _ name: ItemName, _ keys: DatabaseKeys, _ opener: RowOpener,
    like expected: VectorHead.Answer
  ) throws -> VectorHead.Answer {
    let address = keys.address(of: name)
    let found = vector.rows.first { row in
      row.namespace == address.namespace.bytes.bytes && row.shard == address.shard.number
        && row.tag == address.tag.bytes.bytes
    }
    guard let found else { return .absent }
    guard let row = found.sealed else { return .corrupt }
    do throws(StoreError) {
      guard let value = try opener.value(of: row, for: name) else { return .absent }
      if case .hash = expected {
        let bytes = ByteBuffer(value.copyBytes())
        return .hash(Blake2b.hash32(bytes.bytes(0..<bytes.byteCount)))
      }
      return .bytes(value.copyBytes())
    } catch {
      return error.code == .keyMissing ? .keyMissing : .corrupt
    }
  }

  private func outcome(_ error: StoreError) -> String {
    switch error.code {
    case .wrongKey: "wrong key"
    case .corrupt: "corrupt"
    case .unsupportedVersion: "unsupported version"
    case .invalidKey: "refused"
    case .keyMissing: "key missing"
    default: "\(error)"
    }
  }
}
