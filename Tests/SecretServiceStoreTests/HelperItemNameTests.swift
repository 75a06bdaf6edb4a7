import SecretServiceStore
import Testing

/// The names of git's and Docker's credentials, which two helpers must understand in the same way.
@Suite struct HelperItemNameTests {
  private static let names: [(String, GitItemName)] = [
    ("https://h", GitItemName(scheme: "https", user: nil, host: "h", path: nil)),
    ("https://me@h:1", GitItemName(scheme: "https", user: "me", host: "h:1", path: nil)),
    ("https://a@b@h/p@q/r", GitItemName(scheme: "https", user: "a@b", host: "h", path: "p@q/r")),
    ("https://a%2Fb%25@h", GitItemName(scheme: "https", user: "a/b%", host: "h", path: nil)),
    ("cert://@/home/me", GitItemName(scheme: "cert", user: "", host: "", path: "home/me")),
  ]

  @Test(arguments: names)
  func `a name of git is read as it was written`(_ identifier: String, _ name: GitItemName) {
    #expect(name.identifier == identifier)
    #expect(GitItemName(identifier) == name)
    #expect(name.isUnambiguous)
  }

  @Test(arguments: ["", "https", "https:/h", "://h"])
  func `other texts are not names of git`(_ text: String) {
    #expect(GitItemName(text) == nil)
  }

  @Test(arguments: [("https", "a/b"), ("https", "a@b"), ("a://b", "h"), ("", "h")])
  func `a malformed scheme or host is ambiguous`(_ scheme: String, _ host: String) {
    #expect(!GitItemName(scheme: scheme, user: "me", host: host, path: nil).isUnambiguous)
  }

  @Test func `texts that Swift regards as equal are different hosts`() {
    let (composed, decomposed) = ("\u{e9}", "e\u{301}")
    let name = GitItemName(scheme: "https", user: "me", host: composed, path: nil)
    let request = GitItemName(scheme: "https", user: nil, host: decomposed, path: nil)
    #expect(composed == decomposed && !name.matches(request))
  }

  @Test func `the last at sign ends the name of a Docker user`() throws {
    let name = try #require(DockerItemName("me@example@https://r/v1/"))
    #expect(name.user == "me@example" && name.server == "https://r/v1/")
    #expect(name.isUnambiguous && name.identifier == "me@example@https://r/v1/")
    #expect(!DockerItemName(user: "me", server: "a@r").isUnambiguous)
    #expect(DockerItemName("me") == nil)
  }
}
