import Foundation
import SessionToolsBase
import SessionToolsCommand
import Testing

/// One-time passwords: the examples of RFC 6238, appendix B, and other values.
@Suite struct OneTimePasswordTests {
  private static let keys = [
    "SHA1": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
    "SHA256": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA",
    "SHA512": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
      + "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNA",
  ]

  @Test(arguments: [
    (59, "94287082", "46119246", "90693936"), (1_111_111_109, "07081804", "68084774", "25091201"),
    (1_111_111_111, "14050471", "67062674", "99943326"),
    (1_234_567_890, "89005924", "91819424", "93441116"),
    (2_000_000_000, "69279037", "90698825", "38618901"),
    (20_000_000_000, "65353130", "77737706", "47863826"),
  ])
  func `are those of the specification`(
    _ seconds: Int, _ sha1: String, _ sha256: String, _ sha512: String
  ) throws {
    let time = Date(timeIntervalSince1970: TimeInterval(seconds))
    for (algorithm, password) in [("SHA1", sha1), ("SHA256", sha256), ("SHA512", sha512)] {
      let key = try #require(Self.keys[algorithm])
      let value = "otpauth://totp/Example:ada?secret=\(key)&algorithm=\(algorithm)&digits=8"
      #expect(try OneTimePassword(SecretBytes(utf8: value)).password(at: time) == password)
    }
  }

  @Test(arguments: [
    "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\n", "gezd gnbv gy3t qojq gezd gnbv gy3t qojq",
    "otpauth://totp/x?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
    "password\nuser: ada\notpauth://totp/x?SECRET=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&period=30\n",
  ])
  func `have six digits, and take a key in every form`(_ value: String) throws {
    let time = Date(timeIntervalSince1970: 59)
    #expect(try OneTimePassword(SecretBytes(utf8: value)).password(at: time) == "287082")
  }

  @Test(arguments: [
    ("", "empty"), ("hunter2!", "Base32"), ("otpauth://hotp/x?secret=GEZDGNBV", "with time"),
    ("otpauth://totp/x", "no secret"), ("otpauth://totp/x?secret=GEZDGNBV&digits=9", "digits"),
    ("otpauth://totp/x?secret=GEZDGNBV&period=0", "period"),
    ("otpauth://totp/x?secret=GEZDGNBV&algorithm=MD5", "SHA1"),
  ])
  func `are not made of anything else, and the reason does not show it`(
    _ value: String, _ reason: String
  ) throws {
    do {
      _ = try OneTimePassword(SecretBytes(utf8: value))
      Issue.record("\(reason)")
    } catch {
      #expect(error.text.contains(reason))
      #expect(!error.text.contains("GEZDGNBV") && !error.text.contains("hunter2"))
    }
  }
}
