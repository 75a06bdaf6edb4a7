import DatabaseStore
import Foundation
import SessionToolsBase
import Testing

/// The address with its password that charts give.
@Suite struct DatabaseURLTests {
  private func parts(_ text: String) throws -> [String?] {
    let url = try DatabaseURL(SecretBytes(utf8: text), of: "test")
    return [url.address, url.password.map { String(decoding: $0.copyBytes(), as: UTF8.self) }]
  }

  @Test(arguments: [
    ("postgresql://app:s3cret@db/app", "postgresql://app@db/app", "s3cret"),
    ("postgres://app:a%40b%2Fc%25@db:5433/app?x=y", "postgres://app@db:5433/app?x=y", "a@b/c%"),
    ("postgresql://app:a:b@h1,h2/app", "postgresql://app@h1,h2/app", "a:b"),
    ("postgresql://:s3cret@db/app", "postgresql://@db/app", "s3cret"),
    ("postgresql://app:@db/app", "postgresql://app@db/app", nil),
    ("postgresql://app@db/app", "postgresql://app@db/app", nil),
    ("postgresql://db", "postgresql://db", nil),
    ("postgresql:///app?host=/run", "postgresql:///app?host=/run", nil),
  ])
  func `is split into the address and the password`(
    text: String, address: String, password: String?
  ) throws {
    #expect(try parts(text) == [address, password])
  }

  @Test(arguments: [
    "", "s3cret", "host=db password=s3cret", "postgresql:", "postgresql://app:s3@cret@db/app",
    "postgresql://app:s3/cret@db/app", "postgresql://app:s3?cret@db/app",
    "postgresql://app:s3cret%@db/app", "postgresql://app:s3cret%4@db/app",
    "postgresql://app:s3cret%zz@db/app",
  ])
  func `is refused where it is ambiguous, without being shown`(text: String) throws {
    let error = #expect(throws: StoreError.self) { try parts(text) }
    #expect(error?.code == .invalidKey)
    #expect("\(try #require(error))".contains("cret") == false)
  }

  @Test func `is taken out of the environment`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      unsafe setenv("DATABASE_URL", "postgresql://app:s3cret@db/app", 1)
      let url = try DatabaseURL(takingFromEnvironment: "DATABASE_URL")
      guard url.address == "postgresql://app@db/app", url.password == SecretBytes(utf8: "s3cret"),
        unsafe getenv("DATABASE_URL") == nil
      else { exit(1) }
      do {
        _ = try DatabaseURL(takingFromEnvironment: "DATABASE_URL")
        exit(2)
      } catch StoreError.keyMissing {
        exit(7)
      }
    }
  }
}
