#include "net/serve_certificate.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "net/read_file.h"

#define FILE_MAX_BYTES ((size_t)256 << 10)
#define SELF_SIGNED_DAYS 3650
#define SELF_SIGNED_EARLIER_SECONDS 3600 /* clients whose clock is behind */

/* ---- self-signed ---- */

static char *text_of(BIO *bio)
{
	char *data, *text;
	long size = BIO_get_mem_data(bio, &data);

	CHECK(size > 0);
	text = memory_strndup(data, (size_t)size);
	OPENSSL_cleanse(data, (size_t)size);
	BIO_free(bio);
	return text;
}

static void extend(X509 *certificate, int nid, const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	CHECK(extension && X509_add_ext(certificate, extension, -1) == 1);
	X509_EXTENSION_free(extension);
}

static X509 *sign(EVP_PKEY *key)
{
	static const unsigned char common_name[] = "rayscaler";
	X509 *certificate = X509_new();
	uint64_t serial;

	CHECK(certificate && RAND_bytes((unsigned char *)&serial, sizeof(serial)) == 1);
	X509_NAME *name = X509_get_subject_name(certificate);
	CHECK(X509_set_version(certificate, X509_VERSION_3) == 1);
	CHECK(ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1);
	CHECK(X509_gmtime_adj(X509_getm_notBefore(certificate), -SELF_SIGNED_EARLIER_SECONDS));
	CHECK(X509_time_adj_ex(X509_getm_notAfter(certificate), SELF_SIGNED_DAYS, 0, NULL));
	CHECK(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1, -1, 0) == 1);
	CHECK(X509_set_issuer_name(certificate, name) == 1);
	CHECK(X509_set_pubkey(certificate, key) == 1);
	extend(certificate, NID_subject_alt_name, "DNS:rayscaler,DNS:localhost,IP:127.0.0.1");
	extend(certificate, NID_ext_key_usage, "serverAuth");
	CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
	return certificate;
}

static void make_self_signed(struct serve_certificate *ret_certificate)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	BIO *certificate_bio = BIO_new(BIO_s_mem()), *key_bio = BIO_new(BIO_s_mem());

	CHECK(key && certificate_bio && key_bio);
	X509 *certificate = sign(key);
	CHECK(PEM_write_bio_X509(certificate_bio, certificate) == 1);
	CHECK(PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL) == 1);
	ret_certificate->certificate_pem = text_of(certificate_bio);
	ret_certificate->key_pem = text_of(key_bio);
	X509_free(certificate);
	EVP_PKEY_free(key);
}

/* ---- files ---- */

static int no_password(char *ret_text UNUSED, int size UNUSED, int writing UNUSED,
		       void *context UNUSED)
{
	return -1; /* an encrypted key is an error, never a prompt on the terminal */
}

static int read_text(const char *path, char **ret_text, struct err *err)
{
	AUTO(buf_done) struct buf buf;

	buf_init(&buf, FILE_MAX_BYTES);
	if (read_file(path, &buf, err) < 0) {
		err->kind = ERR_INPUT;
		return -1;
	}
	*ret_text = buf_steal(&buf);
	return 0;
}

static BIO *bio_of(const char *text)
{
	BIO *bio = BIO_new_mem_buf(text, (int)strlen(text)); /* at most FILE_MAX_BYTES */

	CHECK(bio);
	return bio;
}

/* Whether it is a pair that a server can use; GnuTLS names no reason. */
static int check_pair(const struct serve_certificate *pair, const char *directory, struct err *err)
{
	BIO *certificate_bio = bio_of(pair->certificate_pem), *key_bio = bio_of(pair->key_pem);
	X509 *certificate = PEM_read_bio_X509(certificate_bio, NULL, no_password, NULL);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, no_password, NULL);
	int result = 0;

	if (!certificate)
		result = err_set(err, ERR_INPUT,
				 "%s/" SERVE_CERTIFICATE_FILE ": has no certificate in PEM form",
				 directory);
	else if (!key)
		result = err_set(err, ERR_INPUT,
				 "%s/" SERVE_KEY_FILE ": has no private key in PEM form without a "
				 "password",
				 directory);
	else if (X509_check_private_key(certificate, key) != 1)
		result = err_set(err, ERR_INPUT,
				 "%s: " SERVE_KEY_FILE " is not the key of " SERVE_CERTIFICATE_FILE
				 "; replace both",
				 directory);
	X509_free(certificate);
	EVP_PKEY_free(key);
	BIO_free(certificate_bio);
	BIO_free(key_bio);
	ERR_clear_error();
	return result;
}

static int read_pair(const char *directory, struct serve_certificate *pair, struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	if (read_text(arena_printf(&scratch, "%s/" SERVE_CERTIFICATE_FILE, directory),
		      &pair->certificate_pem, err) < 0 ||
	    read_text(arena_printf(&scratch, "%s/" SERVE_KEY_FILE, directory), &pair->key_pem,
		      err) < 0)
		return -1;
	return check_pair(pair, directory, err);
}

int serve_certificate_load(const char *directory, struct serve_certificate *ret_certificate,
			   struct err *err)
{
	*ret_certificate = (struct serve_certificate){ .key_pem = NULL };
	if (!directory || !*directory) {
		make_self_signed(ret_certificate);
		return 0;
	}
	if (read_pair(directory, ret_certificate, err) == 0)
		return 0;
	serve_certificate_done(ret_certificate);
	return -1;
}

bool serve_certificate_same(const struct serve_certificate *a, const struct serve_certificate *b)
{
	return strcmp(a->certificate_pem, b->certificate_pem) == 0 &&
	       strcmp(a->key_pem, b->key_pem) == 0;
}

void serve_certificate_done(struct serve_certificate *certificate)
{
	if (certificate->key_pem)
		OPENSSL_cleanse(certificate->key_pem, strlen(certificate->key_pem));
	memory_free(certificate->key_pem);
	memory_free(certificate->certificate_pem);
	*certificate = (struct serve_certificate){ .key_pem = NULL };
}
