#include <libpq-fe.h>

/* Swift does not see macros that are characters. */
static inline const char *session_tools_pq_state(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}

/* The severity in English, whatever language the server's messages have. */
static inline const char *session_tools_pq_severity(const PGresult *result) {
  return PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
}
