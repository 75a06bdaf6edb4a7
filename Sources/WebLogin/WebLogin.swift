@_exported public import OAuthLogin
