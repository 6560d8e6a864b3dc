/* tls.c: rediss://, by OpenSSL where the command was built with it (make redlock TLS=1). */
#include "command.h"

#include <string.h>
#include <sys/stat.h>

static int is_wanted(void) { return strstr(set.servers, "rediss://") != NULL; }

#ifdef REDLOCK_COMMAND_TLS

#define send(fd, data, size, flags) noted_send(fd, data, size, flags) /* reach.c */
#define recv(fd, data, size, flags) noted_recv(fd, data, size, flags)
#include "../tls_openssl.h"
#undef send
#undef recv

#include <stdlib.h>

const int has_tls = 1;

static tls state;

/* ---- The files ------------------------------------------------------------------------------- */

/* Of authorities, of our certificate and of its key: as they were when they were read. */
enum { FILES = 3 };
static struct file {
  dev_t device;
  ino_t number;
  off_t size;
  time_t written, changed;
} files[FILES];

static const char *authorities(void) {
  const char *named = getenv(X509_get_default_cert_file_env());
  if (set.insecure) return NULL;
  return set.cacert ? set.cacert : named ? named : X509_get_default_cert_file();
}

/* Returns whether they can be read again: a pipe cannot. */
static int look_at_files(struct file to[FILES]) {
  const char *path[FILES];
  int i, can = 1;
  path[0] = authorities();
  path[1] = set.cert;
  path[2] = set.key;
  memset(to, 0, FILES * sizeof *to);
  for (i = 0; i < FILES; i++) {
    struct stat file;
    if (!path[i] || stat(path[i], &file) != 0) continue;
    can &= S_ISREG(file.st_mode);
    to[i].device = file.st_dev;
    to[i].number = file.st_ino;
    to[i].size = file.st_size;
    to[i].written = file.st_mtime;
    to[i].changed = file.st_ctime;
  }
  return can;
}

/* NULL = well, else what is wrong, of *file. */
static const char *load_files(SSL_CTX *context, const char **file) {
  *file = set.cacert;
  if (set.insecure) SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
  else if (!set.cacert) (void)SSL_CTX_set_default_verify_paths(context);
  else if (SSL_CTX_load_verify_file(context, set.cacert) != 1)
    return "there are no certificates in the file '%s'";
  *file = set.cert;
  if (!set.cert) return NULL;
  if (SSL_CTX_use_certificate_chain_file(context, set.cert) != 1)
    return "there is no certificate in the file '%s'";
  *file = set.key ? set.key : set.cert; /* one file may hold both */
  if (SSL_CTX_use_PrivateKey_file(context, *file, SSL_FILETYPE_PEM) != 1)
    return "the file '%s' does not hold the key of this certificate";
  return NULL;
}

const redlock_layer *tls_layer(void) {
  const char *wrong, *file;
  if (state.context) return &state.layer;
  if (!is_wanted()) return NULL;
  if (!set.cert && set.key) usage("%s", "--key needs --cert: the certificate of this key");
  if (tls_begin(&state)) usage("%s", "OpenSSL cannot be used: is the file in OPENSSL_CONF right?");
  (void)look_at_files(files);
  wrong = load_files(state.context, &file);
  if (wrong) usage(wrong, file);
  return &state.layer;
}

/* ---- The files, again ------------------------------------------------------------------------ */

enum {
  AGAIN_MS = 1000, /* between two looks at them */
  TELL_AFTER = 5   /* looks: who changes two files does it one by one */
};

static int is_any_away(void) {
  redlock_server_info info;
  int i;
  for (i = 0; i < count_servers(); i++)
    if (redlock_server_status(&client, i, &info) == REDLOCK_OK && !info.connected) return 1;
  return 0;
}

/* Nobody is asked for a pass phrase while the lock waits. */
static int no_pass_phrase(char *to, int room, int writes, void *context) {
  (void)to, (void)room, (void)writes, (void)context;
  return -1;
}

static void tell_unreadable(const char *wrong, const char *file) {
  static int looks;
  if (!wrong) looks = 0;
  else if (++looks == TELL_AFTER) {
    warn(wrong, file);
    warn("  the certificates that were there before are still used");
  }
}

/* Only for who connects they matter. */
int renew_certificates(void) {
  static int64_t again_ms;
  struct file now[FILES];
  const char *wrong = "OpenSSL cannot read '%s' again", *file = set.cert ? set.cert : authorities();
  SSL_CTX *context;
  if (!state.context || now_ms() < again_ms || !is_any_away()) return 0;
  again_ms = now_ms() + AGAIN_MS;
  if (!look_at_files(now) || memcmp(now, files, sizeof now) == 0) return 0;
  context = tls_context();
  if (context) {
    SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);
    wrong = load_files(context, &file);
  }
  tell_unreadable(wrong, file);
  if (wrong) {
    SSL_CTX_free(context);
    return 0;
  }
  memcpy(files, now, sizeof now);
  tls_replace(&state, context);
  SAY_MORE("certificates, or their authorities, have changed: they are read again");
  return 1;
}

#else

const int has_tls = 0;

const redlock_layer *tls_layer(void) {
  if (set.cacert || set.cert || set.key || set.insecure)
    usage("%s", "this redlock was built without TLS: build it with 'make redlock TLS=1'");
  (void)is_wanted;
  return NULL;
}

int renew_certificates(void) { return 0; }

#endif
