#include "postgres.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// MARK: statements, word for word those of the library

static const char header_text[] =
  "SELECT format, number, least_epoch, substring(bytes FROM 1 FOR 1050833) FROM $.header";

static const char value_text[] =
  "SELECT version, epoch, gone, substring(write FROM 1 FOR 17), substring(nonce FROM 1 FOR 25),"
  " substring(value FROM 1 FOR 1081361) FROM $.item"
  " WHERE ns = $1 AND place = $2 AND tag = $3";

static const char page_text[] =
  "SELECT substring(ns FROM 1 FOR 17), place, substring(tag FROM 1 FOR 17), version, epoch, gone,"
  " substring(write FROM 1 FOR 17), substring(nonce FROM 1 FOR 25),"
  " substring(name FROM 1 FOR 16465) FROM $.item"
  " WHERE ns >= $1 AND ns <= $2 AND (ns, place, tag) > ($3, $4, $5) AND ($6 OR NOT gone)"
  " ORDER BY ns, place, tag LIMIT $7";

static const char replace_text[] =
  "WITH f AS MATERIALIZED ("
  " SELECT 1 FROM $.lease l"
  " JOIN unnest($1::int2[], $2::bytea[], $3::bytea[]) AS m(place, tag, holder)"
  " ON l.place = m.place AND l.tag = m.tag AND l.holder = m.holder"
  " WHERE l.until > clock_timestamp() ORDER BY l.place, l.tag FOR SHARE OF l"
  " )"
  " UPDATE $.item SET version = $8, epoch = $9, gone = $10, xid = pg_current_xact_id(),"
  " write = $11, nonce = $12, name = $13, value = $14"
  " WHERE ns = $4 AND place = $5 AND tag = $6 AND version = $7"
  " AND (SELECT count(*) FROM f) = cardinality($3)"
  " AND (SELECT least_epoch FROM $.header) <= $9"
  " RETURNING 1";

static const char write_text[] =
  "WITH f AS MATERIALIZED ("
  " SELECT 1 FROM $.lease l"
  " JOIN unnest($13::int2[], $14::bytea[], $15::bytea[]) AS m(place, tag, holder)"
  " ON l.place = m.place AND l.tag = m.tag AND l.holder = m.holder"
  " WHERE l.until > clock_timestamp() ORDER BY l.place, l.tag FOR SHARE OF l"
  " ), u AS MATERIALIZED ("
  " SELECT * FROM unnest("
  " $1::bytea[], $2::int2[], $3::bytea[], $4::int8[], $5::int8[], $6::bool[], $7::bool[],"
  " $8::bytea[], $9::bytea[], $10::bytea[]"
  " ) AS u(ns, place, tag, old, new, changed, gone, nonce, name, value)"
  " WHERE (SELECT count(*) FROM f) = cardinality($15)"
  " AND (SELECT least_epoch FROM $.header) <= $11"
  " ), o AS MATERIALIZED ("
  " SELECT u.* FROM u"
  " JOIN $.item i ON i.ns = u.ns AND i.place = u.place AND i.tag = u.tag"
  " WHERE u.old <> 0 AND i.version = u.old ORDER BY u.ns, u.place, u.tag FOR UPDATE OF i"
  " ), replaced AS ("
  " UPDATE $.item i SET version = o.new, epoch = $11, gone = o.gone,"
  " xid = pg_current_xact_id(), write = $12, nonce = o.nonce, name = o.name, value = o.value"
  " FROM o"
  " WHERE i.ns = o.ns AND i.place = o.place AND i.tag = o.tag AND i.version = o.old"
  " AND o.changed"
  " RETURNING 1"
  " ), added AS ("
  " INSERT INTO $.item ("
  " ns, place, tag, version, epoch, gone, write, nonce, name, value"
  " ) SELECT ns, place, tag, new, $11, gone, $12, nonce, name, value FROM u"
  " WHERE old = 0 AND new > (extract(epoch FROM clock_timestamp()) - 600) * 1000000"
  " ORDER BY ns, place, tag ON CONFLICT DO NOTHING RETURNING 1"
  " )"
  " SELECT 1 / ((SELECT count(*) FROM added) + (SELECT count(*) FROM replaced)"
  " + (SELECT count(*) FROM o WHERE NOT changed) = $16)::int";

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
  put_int2(out, address->place);
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
