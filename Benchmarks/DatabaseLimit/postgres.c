#include "postgres.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MARK: statements, word for word those of the library

static const char header_text[] =
  "SELECT format, number, least_epoch, substring(bytes FROM 1 FOR 1050833) FROM $.header";

// The library names every operator and function with its schema.
#define OP(symbol) "OPERATOR(pg_catalog." symbol ")"
#define NOW "pg_catalog.clock_timestamp()"

#define SAME_ADDRESS(left, right)                                                                  \
  left "ns " OP("=") " " right "ns AND " left "shard " OP("=") " " right "shard AND " left         \
  "tag " OP("=") " " right "tag"

// The leases `l` that are held of those in three parameters.
#define HELD_LEASES(first, second, third)                                                          \
  "FROM $.lease l JOIN ROWS FROM (pg_catalog.unnest($" first "::pg_catalog.int2[]),"               \
  " pg_catalog.unnest($" second "::pg_catalog.bytea[]),"                                           \
  " pg_catalog.unnest($" third "::pg_catalog.bytea[])) AS m(shard, tag, holder)"                   \
  " ON l.shard " OP("=") " m.shard AND l.tag " OP("=") " m.tag AND l.holder " OP("=") " m.holder " \
  "WHERE l.until " OP(">") " " NOW

// The header is still the one that the keys are from.
#define HAS_HEADER(epoch, mac)                                                                     \
  "EXISTS ( SELECT FROM $.header h WHERE h.least_epoch " OP("<=") " $" epoch                       \
  " AND substring(h.bytes FROM pg_catalog.octet_length(h.bytes) " OP("-") " 31) " OP("=")          \
  " $" mac " )"

static const char value_text[] =
  "SELECT version, epoch, gone, substring(write FROM 1 FOR 17), substring(nonce FROM 1 FOR 25),"
  " substring(value FROM 1 FOR 1081361) FROM $.item"
  " WHERE ns " OP("=") " $1 AND shard " OP("=") " $2 AND tag " OP("=") " $3";

static const char page_text[] =
  "SELECT substring(ns FROM 1 FOR 17), shard, substring(tag FROM 1 FOR 17), version, epoch, gone,"
  " substring(write FROM 1 FOR 17), substring(nonce FROM 1 FOR 25),"
  " substring(name FROM 1 FOR 16465) FROM $.item"
  " WHERE ns " OP(">=") " $1 AND ns " OP("<=") " $2"
  " AND (ns, shard, tag) " OP(">") " ($3, $4, $5)"
  " ORDER BY ns, shard, tag LIMIT $6";

static const char replace_text[] =
  "WITH f AS MATERIALIZED ("
  " SELECT 1 " HELD_LEASES("1", "2", "3") " ORDER BY l.shard, l.tag FOR SHARE OF l"
  " )"
  " UPDATE $.item SET version = $8, epoch = $9, gone = $10,"
  " xid = pg_catalog.pg_current_xact_id(), write = $11, nonce = $12, name = $13, value = $14"
  " WHERE ns " OP("=") " $4 AND shard " OP("=") " $5 AND tag " OP("=") " $6"
  " AND version " OP("=") " $7"
  " AND (SELECT pg_catalog.count(*) FROM f) " OP("=") " pg_catalog.cardinality($3)"
  " AND " HAS_HEADER("9", "15")
  " RETURNING 1";

static const char write_text[] =
  "WITH f AS MATERIALIZED ("
  " SELECT 1 " HELD_LEASES("13", "14", "15") " ORDER BY l.shard, l.tag FOR SHARE OF l"
  " ), u AS MATERIALIZED ("
  " SELECT * FROM ROWS FROM ("
  "pg_catalog.unnest($1::pg_catalog.bytea[]), pg_catalog.unnest($2::pg_catalog.int2[]),"
  " pg_catalog.unnest($3::pg_catalog.bytea[]), pg_catalog.unnest($4::pg_catalog.int8[]),"
  " pg_catalog.unnest($5::pg_catalog.int8[]), pg_catalog.unnest($6::pg_catalog.bool[]),"
  " pg_catalog.unnest($7::pg_catalog.bool[]), pg_catalog.unnest($8::pg_catalog.bytea[]),"
  " pg_catalog.unnest($9::pg_catalog.bytea[]), pg_catalog.unnest($10::pg_catalog.bytea[])"
  ") AS u(ns, shard, tag, old, new, changed, gone, nonce, name, value)"
  " WHERE (SELECT pg_catalog.count(*) FROM f) " OP("=") " pg_catalog.cardinality($15)"
  " AND " HAS_HEADER("11", "17")
  " ), o AS MATERIALIZED ("
  " SELECT u.* FROM u JOIN $.item i ON " SAME_ADDRESS("i.", "u.")
  " WHERE u.old " OP("<>") " 0 AND i.version " OP("=") " u.old"
  " ORDER BY u.ns, u.shard, u.tag FOR UPDATE OF i"
  " ), replaced AS ("
  " UPDATE $.item i SET version = o.new, epoch = $11, gone = o.gone,"
  " xid = pg_catalog.pg_current_xact_id(), write = $12, nonce = o.nonce, name = o.name,"
  " value = o.value"
  " FROM o"
  " WHERE " SAME_ADDRESS("i.", "o.") " AND i.version " OP("=") " o.old AND o.changed"
  " RETURNING 1"
  " ), added AS ("
  " INSERT INTO $.item ("
  " ns, shard, tag, version, epoch, gone, write, nonce, name, value"
  " ) SELECT ns, shard, tag, new, $11, gone, $12, nonce, name, value FROM u"
  " WHERE old " OP("=") " 0 AND new " OP(">")
  " ((extract(epoch FROM " NOW ") " OP("-") " 600) " OP("*") " 1000000)"
  " ORDER BY ns, shard, tag ON CONFLICT DO NOTHING RETURNING 1"
  " )"
  " SELECT 1 " OP("/") " ("
  " ("
  " (SELECT pg_catalog.count(*) FROM added)"
  " " OP("+") " (SELECT pg_catalog.count(*) FROM replaced)"
  " " OP("+") " (SELECT pg_catalog.count(*) FROM o WHERE NOT changed)"
  " ) " OP("=") " $16"
  " )::pg_catalog.int4";

// MARK: parameters in binary form

static void add(parameters *out, const void *bytes, size_t count) {
  if (out->used + count > out->room) {
    out->room = 2 * (out->used + count);
    out->bytes = realloc(out->bytes, out->room);
    require(out->bytes != NULL, "memory");
  }
  memcpy(out->bytes + out->used, bytes, count);
  out->used += count;
}

static void add_int4(parameters *out, uint32_t value) {
  uint32_t big = htobe32(value);
  add(out, &big, 4);
}

static void begin(parameters *out, Oid type) {
  require(out->count < MOST_PARAMETERS, "a statement's parameters");
  out->types[out->count] = type;
  out->starts[out->count] = out->used;
  out->count += 1;
}

static void end(parameters *out) {
  out->lengths[out->count - 1] = (int)(out->used - out->starts[out->count - 1]);
}

void put_bytes(parameters *out, const void *bytes, size_t count) {
  begin(out, BYTEA);
  add(out, bytes, count);
  end(out);
}

void put_bool(parameters *out, uint8_t value) {
  begin(out, BOOL);
  add(out, &value, 1);
  end(out);
}

void put_int2(parameters *out, int16_t value) {
  uint16_t big = htobe16((uint16_t)value);
  begin(out, INT2);
  add(out, &big, 2);
  end(out);
}

void put_int4(parameters *out, uint32_t value) {
  begin(out, INT4);
  add_int4(out, value);
  end(out);
}

void put_int8(parameters *out, int64_t value) {
  uint64_t big = htobe64((uint64_t)value);
  begin(out, INT8);
  add(out, &big, 8);
  end(out);
}

void put_array(
  parameters *out, Oid type, Oid element, const void *first, size_t count, size_t stride,
  size_t bytes
) {
  begin(out, type);
  add_int4(out, count > 0);
  add_int4(out, 0);
  add_int4(out, element);
  if (count > 0) {
    add_int4(out, (uint32_t)count);
    add_int4(out, 1);
  }
  for (size_t at = 0; at < count; at += 1) {
    const uint8_t *from = (const uint8_t *)first + at * stride;
    uint64_t value = 0;
    add_int4(out, (uint32_t)bytes);
    if (element == INT8 || element == INT2) {
      memcpy(&value, from, bytes);
      value = htobe64(value) >> (64 - 8 * bytes);
      from = (const uint8_t *)&value;
    }
    add(out, from, bytes);
  }
  end(out);
}

void put_address(parameters *out, const row_address *address) {
  put_bytes(out, address->namespace, sizeof address->namespace);
  put_int2(out, address->shard);
  put_bytes(out, address->tag, sizeof address->tag);
}

void put_no_leases(parameters *out) {
  put_array(out, INT2S, INT2, NULL, 0, 0, 2);
  put_array(out, BYTEAS, BYTEA, NULL, 0, 0, 0);
  put_array(out, BYTEAS, BYTEA, NULL, 0, 0, 0);
}

// MARK: the connection

static const char *const names[] = {"value", "page", "replace", "write"};
static const char *const texts[] = {value_text, page_text, replace_text, write_text};

static void require_result(const database *database, const PGresult *result) {
  ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return;
  fprintf(stderr, "%s", PQerrorMessage(database->link));
  exit(1);
}

// Writes the schema in the places of `$.`.
static void complete(const char *text, const char *schema, char *out, size_t room) {
  size_t used = 0;
  for (; *text != 0; text += 1) {
    int is_schema = text[0] == '$' && text[1] == '.';
    int count = is_schema
      ? snprintf(out + used, room - used, "\"%s\"", schema)
      : snprintf(out + used, room - used, "%c", *text);
    used += (size_t)count;
    require(used < room, "the length of a statement");
  }
}

PGresult *database_run(database *database, statement statement) {
  const parameters *sent = &database->parameters;
  const char *values[MOST_PARAMETERS];
  int formats[MOST_PARAMETERS];
  for (int at = 0; at < sent->count; at += 1) {
    values[at] = (const char *)sent->bytes + sent->starts[at];
    formats[at] = 1;
  }
  if (!(database->prepared & 1u << statement)) {
    char text[4096];
    complete(texts[statement], database->schema, text, sizeof text);
    PGresult *result =
      PQprepare(database->link, names[statement], text, sent->count, sent->types);
    require_result(database, result);
    PQclear(result);
    database->prepared |= 1u << statement;
  }
  PGresult *result = PQexecPrepared(
    database->link, names[statement], sent->count, values, sent->lengths, formats, 1);
  require_result(database, result);
  return result;
}

parameters *database_parameters(database *database) {
  database->parameters.used = 0;
  database->parameters.count = 0;
  return &database->parameters;
}

PGconn *database_connect(const char *address) {
  PGconn *link = PQconnectdb(address);
  if (PQstatus(link) == CONNECTION_OK) return link;
  fprintf(stderr, "%s", PQerrorMessage(link));
  exit(1);
}

database database_open(const char *address, const char *schema, const char *key_path) {
  database made = {.link = database_connect(address), .schema = schema};
  char text[256];
  PQclear(PQexec(
    made.link,
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off"));
  complete(header_text, schema, text, sizeof text);
  PGresult *result = PQexecParams(made.link, text, 0, NULL, NULL, NULL, NULL, 1);
  require_result(&made, result);
  require(PQntuples(result) == 1, "the header");
  row_keys_open(
    &made.keys, (const uint8_t *)PQgetvalue(result, 0, 3), (size_t)PQgetlength(result, 0, 3),
    key_path);
  PQclear(result);
  return made;
}

void database_close(database *database) {
  PQfinish(database->link);
  free(database->parameters.bytes);
}
