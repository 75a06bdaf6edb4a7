// A connection to PostgreSQL and the statements of the sealed database store. Any error ends the
// program.

#pragma once

#include "row.h"

#include <libpq-fe.h>

// PostgreSQL's numbers of the types of parameters.
enum {
  BOOL = 16, BYTEA = 17, INT8 = 20, INT2 = 21, INT4 = 23,
  BOOLS = 1000, BYTEAS = 1001, INT2S = 1005, INT8S = 1016,
  MOST_PARAMETERS = 17,
};

// The parameters of a statement in binary form, one after the other.
typedef struct {
  uint8_t *bytes;
  size_t used, room;
  int count;
  Oid types[MOST_PARAMETERS];
  size_t starts[MOST_PARAMETERS];
  int lengths[MOST_PARAMETERS];
} parameters;

typedef enum { VALUE, PAGE, REPLACE, WRITE } statement;

typedef struct {
  PGconn *link;
  const char *schema;
  row_keys keys;
  parameters parameters;
  // The set of the statements that are prepared.
  unsigned prepared;
} database;

PGconn *database_connect(const char *address);
// Connects, and opens the header.
database database_open(const char *address, const char *schema, const char *key_path);
void database_close(database *database);

// Returns the parameters of the next statement, which the caller appends.
parameters *database_parameters(database *database);
// Sends a statement with its parameters and waits for the answer.
PGresult *database_run(database *database, statement statement);

void put_bytes(parameters *out, const void *bytes, size_t count);
void put_bool(parameters *out, uint8_t value);
void put_int2(parameters *out, int16_t value);
void put_int4(parameters *out, uint32_t value);
void put_int8(parameters *out, int64_t value);
// An array of `count` values, `stride` bytes apart, each `bytes` long.
void put_array(
  parameters *out, Oid type, Oid element, const void *first, size_t count, size_t stride,
  size_t bytes);
void put_address(parameters *out, const row_address *address);
// There are no leases: nothing is changed under exclusive access.
void put_no_leases(parameters *out);
