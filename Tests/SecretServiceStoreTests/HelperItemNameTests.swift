import SecretServiceStore
import Testing

/// The names of git's and Docker's credentials, which two helpers must understand in the same way.
@Suite struct HelperItemNameTests {
  @Test(arguments: [
    ("https://example.com", "https", nil, "example.com", nil),
    ("https://me@example.com:8443", "https", "me", "example.com:8443", nil),
    ("https://a@b@h/p@q/r", "https", "a@b", "h", "p@q/r"),
    ("https://a%2Fb%25@h", "https", "a/b%", "h", nil),
    ("cert://@/home/me", "cert", "", "", "home/me"),
  ] as [(String, String, String?, String, String?)])
  func aNameOfGitIsReadAsItWasWritten(
    _ identifier: String, _ scheme: String, _ user: String?, _ host: String, _ path: String?
  ) {
    let name = GitItemName(scheme: scheme, user: user, host: host, path: path)
    #expect(name.identifier == identifier)
    #expect(GitItemName(identifier) == name)
    #expect(name.isUnambiguous)
  }

  @Test(arguments: ["", "https", "https:/h", "://h"])
  func otherTextsAreNoNamesOfGit(_ text: String) {
    #expect(GitItemName(text) == nil)
  }

  @Test(arguments: [("https", "a/b"), ("https", "a@b"), ("a://b", "h"), ("", "h")])
  func aMalformedSchemeOrHostIsAmbiguous(_ scheme: String, _ host: String) {
    #expect(!GitItemName(scheme: scheme, user: "me", host: host, path: nil).isUnambiguous)
  }

  @Test func textsThatSwiftComparesAsEqualAreDifferentHosts() {
    let (composed, decomposed) = ("\u{e9}", "e\u{301}")
    let name = GitItemName(scheme: "https", user: "me", host: composed, path: nil)
    let request = GitItemName(scheme: "https", user: nil, host: decomposed, path: nil)
    #expect(composed == decomposed && !name.matches(request))
  }

  @Test func theLastAtSignEndsADockerUser() throws {
    let name = try #require(DockerItemName("me@example@https://r/v1/"))
    #expect(name.user == "me@example" && name.server == "https://r/v1/")
    #expect(name.isUnambiguous && name.identifier == "me@example@https://r/v1/")
    #expect(!DockerItemName(user: "me", server: "a@r").isUnambiguous)
    #expect(DockerItemName("me") == nil)
  }
}
