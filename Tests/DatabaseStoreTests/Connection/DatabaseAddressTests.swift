import DatabaseStore
import SessionToolsBase
import Testing

/// The address of a database: what it may ask for, and what is sent where.
@Suite struct DatabaseAddressTests {
  /// Returns the mode of TLS for each endpoint of an address.
  private func modes(_ text: String, allowsPlaintext: Bool = false) throws -> [String?] {
    let address = try DatabaseAddress(text, allowsPlaintext: allowsPlaintext)
    return address.endpoints.map { address.keywords(for: $0)["sslmode"] }
  }

  @Test(arguments: [
    "postgresql://app@db.example.com/app",
    "host=10.0.0.5",
    "host=localhost",
    "host=db hostaddr=10.0.0.5",
    "host=127.0.0.1 hostaddr=10.0.0.5",
    "host=127.1",
  ])
  func `a server on another machine must show its certificate`(text: String) throws {
    #expect(try modes(text) == ["verify-full"])
    // Whatever a name server answers.
    let address = try DatabaseAddress(text)
    let keywords = address.keywords(for: address.endpoints[0], at: "127.0.0.1")
    #expect(keywords["sslmode"] == "verify-full" && keywords["hostaddr"] == "127.0.0.1")
    for mode in ["disable", "allow", "prefer", "require", "verify-ca"] {
      let separator = text.contains("://") ? "?" : " "
      let error = #expect(throws: StoreError.self) {
        _ = try DatabaseAddress("\(text)\(separator)sslmode=\(mode)")
      }
      #expect(error?.code == .invalidKey)
    }
  }

  @Test(arguments: ["-csearch_path=billing", "-c search_path=billing"])
  func `a search path is refused, because it does not choose the schema`(options: String) {
    let error = #expect(throws: StoreError.self) {
      _ = try DatabaseAddress("host=127.0.0.1 options='\(options)'")
    }
    #expect(error?.code == .invalidKey)
    #expect(error?.reason.contains("search_path") == true)
  }

  @Test(arguments: ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
  func `a literal loopback address needs no TLS`(host: String) throws {
    #expect(try modes("host=\(host)") == ["prefer"])
    #expect(try modes("host=\(host) sslmode=disable") == ["disable"])
    #expect(try modes("host=\(host) sslmode=verify-full") == ["verify-full"])
    #expect(try modes("host=db hostaddr=\(host)") == ["prefer"])
  }

  @Test func `what is allowed in plaintext is what the address asks for`() throws {
    #expect(try modes("host=db", allowsPlaintext: true) == ["prefer"])
    #expect(try modes("host=db sslmode=disable", allowsPlaintext: true) == ["disable"])
    #expect(try DatabaseAddress("host=db sslmode=disable", allowsPlaintext: true).isExposed)
    #expect(try DatabaseAddress("host=db", allowsPlaintext: true).isExposed)
    #expect(try !DatabaseAddress("host=127.0.0.1 sslmode=disable").isExposed)
  }

  @Test func `one host on another machine decides for all`() throws {
    let expected = ["verify-full", "verify-full", "prefer"]
    #expect(try modes("host=/run/postgresql,db,127.0.0.1") == expected)
    let error = #expect(throws: StoreError.self) {
      _ = try DatabaseAddress("host=/run/postgresql,db sslmode=prefer")
    }
    #expect(error?.code == .invalidKey)
  }

  @Test(arguments: [
    "postgresql://app:secret@db/app", "host=db password=secret", "service=x host=db",
    "host=db target_session_attrs=any", "host=db replication=database", "", "dbname=app",
    "host=a,b port=1,2,3", "host=a, port=5432,5433", "host=a,b hostaddr=10.0.0.1", "host",
    "nonsense=1", "host=db\0",
  ])
  func `an address that hides something or makes no sense is refused`(text: String) throws {
    let error = #expect(throws: StoreError.self) { _ = try DatabaseAddress(text) }
    #expect(error?.code == .invalidKey)
    #expect(error?.description.contains("secret") == false)
  }

  @Test func `hosts, addresses and ports belong together in their order`() throws {
    let address = try DatabaseAddress("host=a,b hostaddr=10.0.0.1,10.0.0.2 port=1,2 user=app")
    let keywords = address.endpoints.map { address.keywords(for: $0) }
    #expect(keywords.map { $0["host"] } == ["a", "b"])
    #expect(keywords.map { $0["hostaddr"] } == ["10.0.0.1", "10.0.0.2"])
    #expect(keywords.map { $0["port"] } == ["1", "2"])
    #expect(keywords.allSatisfy { $0["user"] == "app" && $0["password"] == nil })
    let uri = try DatabaseAddress("postgresql://a:1,b/app")
    #expect(uri.endpoints.map(\.description) == ["a:1", "b:5432"])
  }

  @Test func `what decides about the connection cannot be left to the environment`() throws {
    let address = try DatabaseAddress("postgresql:///app?host=/run/postgresql&gssencmode=require")
    let keywords = address.keywords(for: address.endpoints[0])
    #expect(keywords["gssencmode"] == "disable")
    #expect(keywords["target_session_attrs"] == "read-write")
    #expect(keywords["tcp_user_timeout"] == "3000")
    #expect(keywords["client_encoding"] == "UTF8")
    #expect(keywords["dbname"] == "app")
    // A variable with an address would turn the socket into another machine.
    #expect(keywords["sslmode"] == "verify-full")
  }
}
