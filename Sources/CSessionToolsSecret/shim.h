// The functions of libsecret that this package calls. Its own headers need flags that only
// pkg-config knows, and its file makes SwiftPM warn in every build of every program that uses this
// package: "prohibited flag(s): -pthread". The ABI is stable, also of the functions for D-Bus
// paths, which libsecret declares for those only who ask for them. CI compares these declarations
// with the real ones.
#pragma once
#include <gio/gio.h>

typedef struct _SecretRetrievable SecretRetrievable;
typedef struct _SecretService SecretService;
typedef struct _SecretValue SecretValue;

GType secret_service_get_type(void);
void secret_service_ensure_session(
    SecretService *self, GCancellable *cancellable, GAsyncReadyCallback callback,
    gpointer user_data);
gboolean secret_service_ensure_session_finish(
    SecretService *self, GAsyncResult *result, GError **error);
const gchar *secret_service_get_session_dbus_path(SecretService *self);
GVariant *secret_service_encode_dbus_secret(SecretService *service, SecretValue *value);
SecretValue *secret_service_decode_dbus_secret(SecretService *service, GVariant *value);

SecretValue *secret_value_new(const gchar *secret, gssize length, const gchar *content_type);
const gchar *secret_value_get(SecretValue *value, gsize *length);
void secret_value_unref(gpointer value);

enum { SESSION_TOOLS_SEARCH_ALL = 2, SESSION_TOOLS_SEARCH_LOAD_SECRETS = 8 };

/// The schema is a `const SecretSchema *`, and the flags are a `SecretSearchFlags`; CI compares
/// their values and size.
GList *secret_password_searchv_sync(
    gconstpointer schema, GHashTable *attributes, guint flags, GCancellable *cancellable,
    GError **error);
GHashTable *secret_retrievable_get_attributes(SecretRetrievable *self);
SecretValue *secret_retrievable_retrieve_secret_sync(
    SecretRetrievable *self, GCancellable *cancellable, GError **error);
