// What every peer in C does: the operations of its store. `peer.c` has the items, the clock and the
// protocol. No error handling beyond leaving: this measures, it does not keep secrets.

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

enum { VALUE_BYTES = 512, KEY_BYTES = 32 };

extern const char service[];

typedef struct {
  const char *name, *version, *what, *durable, *durable_because, *sealed, *start;
} description;

// MARK: what a peer has

description store_description(void);
// Opens the store in a directory, and makes it first if it is not there.
void store_open(const char *directory);
void store_close(void);
// Puts between these are durable at the end of them, all together, where the store can do that.
void store_begin(void);
void store_end(void);
void store_put(const char *identifier, const uint8_t value[VALUE_BYTES]);
// Whether there is such an item with a value of that length.
int store_get(const char *identifier, uint8_t value[VALUE_BYTES]);
// Tells of every identifier.
void store_list(void (*found)(const char *identifier));
// Whether there was such an item.
int store_remove(const char *identifier);

// MARK: what a peer may use

noreturn void fail(const char *what, const char *why);
// Leaves with errno's text when something is not as it has to be.
void require(int condition, const char *what);
// Reads the key in the directory, and makes it first if it is not there.
void read_key(const char *directory, uint8_t key[KEY_BYTES]);
// A path in a directory, to be freed.
char *path_in(const char *directory, const char *name);
