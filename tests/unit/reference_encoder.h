/* reference_encoder.h: commands spelled a second time, independently of the encoder under test. */
#ifndef REFERENCE_ENCODER_H
#define REFERENCE_ENCODER_H

#include "recording_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_BYTES = 20 };

struct bytes {
  size_t size;
  unsigned char at[1 << 14];
};

static inline void add(struct bytes *to, const void *from, size_t size) {
  if (to->size + size > sizeof to->at) abort();
  memcpy(to->at + to->size, from, size);
  to->size += size;
}

static inline void add_text(struct bytes *to, const char *text) { add(to, text, strlen(text)); }

static inline void add_words(struct bytes *to, int words) {
  char line[16];
  snprintf(line, sizeof line, "*%d\r\n", words);
  add_text(to, line);
}

static inline void add_word(struct bytes *to, const void *word, size_t size) {
  char line[16];
  snprintf(line, sizeof line, "$%u\r\n", (unsigned)size);
  add_text(to, line);
  add(to, word, size);
  add_text(to, "\r\n");
}

static inline void add_string(struct bytes *to, const char *word) {
  add_word(to, word, strlen(word));
}

static inline void add_number(struct bytes *to, uint32_t number) {
  char text[16];
  snprintf(text, sizeof text, "%lu", (unsigned long)number);
  add_string(to, text);
}

static inline void add_set(struct bytes *to, const char *resource, const void *value,
                           uint32_t ttl_ms) {
  add_words(to, 6);
  add_string(to, "SET");
  add_string(to, resource);
  add_word(to, value, VALUE_BYTES);
  add_string(to, "NX");
  add_string(to, "PX");
  add_number(to, ttl_ms);
}

static inline void add_script(struct bytes *to, int words, const char *script,
                              const char *resource, const void *value) {
  add_words(to, words);
  add_string(to, "EVAL");
  add_string(to, script);
  add_string(to, "1");
  add_string(to, resource);
  add_word(to, value, VALUE_BYTES);
}

static inline void add_release(struct bytes *to, const char *resource, const void *value) {
  add_script(to, 5, INSIDE_RELEASE_SCRIPT, resource, value);
}

static inline void add_extend(struct bytes *to, const char *resource, const void *value,
                              uint32_t ttl_ms) {
  add_script(to, 6, INSIDE_EXTEND_SCRIPT, resource, value);
  add_number(to, ttl_ms);
}

/* The value that wire_entropy gives when its next first byte is `first`. */
static inline void value_of(unsigned char value[VALUE_BYTES], unsigned char first) {
  int i;
  for (i = 0; i < VALUE_BYTES; i++) value[i] = (unsigned char)(first + i);
}

/* Whether server i was sent exactly these bytes. */
static inline int was_sent(int i, const struct bytes *bytes) {
  const struct wire_server *s = &wire.server[i];
  return s->sent_size == bytes->size && memcmp(s->sent, bytes->at, bytes->size) == 0;
}

#endif
