#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* curl_easy_setopt and curl_easy_getinfo take a variable number of arguments, which Swift cannot
   pass, and check their types by macros, which it does not see. */
static inline CURLcode session_tools_curl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode session_tools_curl_set_text(
  CURL *handle, CURLoption option, const char *value
) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode session_tools_curl_set_body(CURL *handle, const void *body, long count) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, count);
  return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body) : code;
}

static inline CURLcode session_tools_curl_set_headers(CURL *handle, struct curl_slist *headers) {
  return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
}

static inline CURLcode session_tools_curl_set_receivers(
  CURL *handle, curl_write_callback header, curl_write_callback body, void *context
) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, header);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, body);
  if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
  return code;
}

/* Programs that are started while a request is under way do not inherit its connection. The context
   receives the port that was connected to last, which shows whether that was a proxy: libcurl
   reports it only since 8.7. */
static inline curl_socket_t session_tools_curl_open_socket(
  void *context, curlsocktype purpose, struct curl_sockaddr *address
) {
  (void)purpose;
  if (address->family == AF_INET) {
    *(uint16_t *)context = ntohs(((struct sockaddr_in *)&address->addr)->sin_port);
  } else if (address->family == AF_INET6) {
    *(uint16_t *)context = ntohs(((struct sockaddr_in6 *)&address->addr)->sin6_port);
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline CURLcode session_tools_curl_keep_sockets(CURL *handle, uint16_t *port) {
  curl_opensocket_callback open = session_tools_curl_open_socket;
  CURLcode code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open);
  return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, port) : code;
}

/* A buffer of CURL_ERROR_SIZE bytes for libcurl's own words about an error. */
static inline CURLcode session_tools_curl_set_error_buffer(CURL *handle, char *buffer) {
  return curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, buffer);
}

/* Without it libcurl waits for a name that is being looked up, however long that takes, before it
   gives up a request. Versions before 7.87 know no other way. */
static inline CURLcode session_tools_curl_leave_lookups(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
  CURLcode code = curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
  return code == CURLE_UNKNOWN_OPTION ? CURLE_OK : code;
#else
  (void)handle;
  return CURLE_OK;
#endif
}

/* libcurl knows two dozen protocols; the older option is the only one before 7.85. */
static inline CURLcode session_tools_curl_allow_only_http(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
  return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static inline long session_tools_curl_number(CURL *handle, CURLINFO info) {
  long value = 0;
  return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

/* The next request that has ended; its handle, or none. */
static inline CURL *session_tools_curl_ended(CURLM *multi, CURLcode *code) {
  int rest;
  for (CURLMsg *message; (message = curl_multi_info_read(multi, &rest));) {
    if (message->msg != CURLMSG_DONE) continue;
    *code = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}
