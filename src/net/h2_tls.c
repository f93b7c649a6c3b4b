#include "net/h2_tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "net/sha256.h"
#include "net/tls_ciphers.h"

/* Unsent bytes of one connection: h2 writes at most a few frames before it waits for the socket. */
#define H2_TLS_OUTPUT_CEILING_BYTES (1u << 20)

/* Of the three texts. */
struct h2_tls_digests {
	char cert[SHA256_TEXT_SIZE], key[SHA256_TEXT_SIZE], ca[SHA256_TEXT_SIZE];
};

struct h2_tls {
	unsigned references;
	SSL_CTX *context;
	BIO_METHOD *method;
	struct h2_tls_digests digests;
};

struct h2_tls_link {
	struct h2_tls *tls;
	SSL *ssl;
	const char *input; /* not owned */
	size_t input_size;
	struct buf output;
};

/* ---- the two ends of a link ---- */

/* OpenSSL's own memory BIO keeps the largest buffer it ever had for each connection; this one reads
 * the socket's bytes in place. */
static int h2_tls_bio_read(BIO *bio, char *data, size_t size, size_t *ret_size)
{
	struct h2_tls_link *link = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (link->input_size == 0) {
		BIO_set_retry_read(bio);
		return 0;
	}
	if (size > link->input_size)
		size = link->input_size;
	memcpy(data, link->input, size);
	link->input += size;
	link->input_size -= size;
	*ret_size = size;
	return 1;
}

static int h2_tls_bio_write(BIO *bio, const char *data, size_t size, size_t *ret_size)
{
	struct h2_tls_link *link = BIO_get_data(bio);

	if (buf_add(&link->output, data, size) < 0)
		return 0;
	*ret_size = size;
	return 1;
}

static long h2_tls_bio_control(BIO *bio UNUSED, int command, long number UNUSED,
			       void *pointer UNUSED)
{
	return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *h2_tls_bio_method_new(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "h2_tls");

	CHECK(method);
	CHECK(BIO_meth_set_read_ex(method, h2_tls_bio_read));
	CHECK(BIO_meth_set_write_ex(method, h2_tls_bio_write));
	CHECK(BIO_meth_set_ctrl(method, h2_tls_bio_control));
	return method;
}

/* ---- the material ---- */

static int h2_tls_no_password(char *ret_text UNUSED, int size UNUSED, int writing UNUSED,
			      void *context UNUSED)
{
	return -1; /* an encrypted key is an error, never a prompt on the terminal */
}

static const char *h2_tls_reason(void)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	return reason ? reason : "no PEM block in it";
}

static BIO *h2_tls_text_bio(const char *pem)
{
	size_t size = strlen(pem);

	CHECK(size <= INT32_MAX);
	BIO *bio = BIO_new_mem_buf(pem, (int)size);
	CHECK(bio);
	return bio;
}

static int h2_tls_load_ca(SSL_CTX *context, const char *pem, struct err *err)
{
	X509_STORE *store = SSL_CTX_get_cert_store(context);
	BIO *bio = h2_tls_text_bio(pem);
	X509 *certificate;
	int count = 0;

	while ((certificate = PEM_read_bio_X509(bio, NULL, h2_tls_no_password, NULL))) {
		count += X509_STORE_add_cert(store, certificate);
		X509_free(certificate);
	}
	BIO_free(bio);
	if (count == 0)
		return err_set(err, ERR_INPUT, "the CA certificate cannot be used: %s",
			       h2_tls_reason());
	return 0;
}

static int h2_tls_load_cert(SSL_CTX *context, const char *pem, struct err *err)
{
	BIO *bio = h2_tls_text_bio(pem);
	X509 *certificate;
	int count = 0, bad = 0;

	while ((certificate = PEM_read_bio_X509(bio, NULL, h2_tls_no_password, NULL))) {
		if (count == 0)
			bad |= SSL_CTX_use_certificate(context, certificate) != 1;
		else
			bad |= SSL_CTX_add1_chain_cert(context, certificate) != 1;
		count++;
		X509_free(certificate);
	}
	BIO_free(bio);
	if (bad || count == 0)
		return err_set(err, ERR_INPUT, "the certificate cannot be used: %s",
			       h2_tls_reason());
	return 0;
}

static int h2_tls_load_key(SSL_CTX *context, const char *pem, struct err *err)
{
	BIO *bio = h2_tls_text_bio(pem);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, h2_tls_no_password, NULL);
	int used = key && SSL_CTX_use_PrivateKey(context, key) == 1;

	BIO_free(bio);
	EVP_PKEY_free(key);
	if (!used)
		return err_set(err, ERR_INPUT, "the private key cannot be used: %s",
			       h2_tls_reason());
	return 0;
}

static struct h2_tls_digests h2_tls_digest(const char *cert_pem, const char *key_pem,
					   const char *ca_pem)
{
	struct h2_tls_digests digests = { .cert = { 0 } };

	sha256_text(cert_pem ? cert_pem : "", digests.cert);
	sha256_text(key_pem ? key_pem : "", digests.key);
	sha256_text(ca_pem ? ca_pem : "", digests.ca);
	return digests;
}

static int h2_tls_load(SSL_CTX *context, const char *cert_pem, const char *key_pem,
		       const char *ca_pem, struct err *err)
{
	ERR_clear_error();
	if (!ca_pem || (!cert_pem) != (!key_pem))
		return err_set(err, ERR_INPUT,
			       "TLS needs a CA certificate, and certificate and key "
			       "both or neither");
	if (h2_tls_load_ca(context, ca_pem, err) < 0)
		return -1;
	if (cert_pem && (h2_tls_load_cert(context, cert_pem, err) < 0 ||
			 h2_tls_load_key(context, key_pem, err) < 0))
		return -1;
	if (cert_pem && SSL_CTX_check_private_key(context) != 1)
		return err_set(err, ERR_INPUT,
			       "the private key does not belong to the certificate");
	return 0;
}

struct h2_tls *h2_tls_new(const char *cert_pem, const char *key_pem, const char *ca_pem,
			  struct err *err)
{
	static const unsigned char alpn[] = { 2, 'h', '2' };
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	struct h2_tls *tls;

	CHECK(context);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	CHECK(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION));
	CHECK(SSL_CTX_set_cipher_list(context, TLS_CIPHERS));
	CHECK(SSL_CTX_set_alpn_protos(context, alpn, sizeof(alpn)) == 0);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	int loaded = h2_tls_load(context, cert_pem, key_pem, ca_pem, err);
	ERR_clear_error();
	if (loaded < 0) {
		SSL_CTX_free(context);
		return NULL;
	}
	tls = memory_alloc(sizeof(*tls));
	tls->references = 1;
	tls->context = context;
	tls->method = h2_tls_bio_method_new();
	tls->digests = h2_tls_digest(cert_pem, key_pem, ca_pem);
	return tls;
}

struct h2_tls *h2_tls_reference(struct h2_tls *tls)
{
	if (tls)
		tls->references++;
	return tls;
}

void h2_tls_release(struct h2_tls *tls)
{
	if (!tls || --tls->references > 0)
		return;
	SSL_CTX_free(tls->context);
	BIO_meth_free(tls->method);
	memory_free(tls);
}

bool h2_tls_matches(const struct h2_tls *tls, const char *cert_pem, const char *key_pem,
		    const char *ca_pem)
{
	struct h2_tls_digests digests = h2_tls_digest(cert_pem, key_pem, ca_pem);

	return memcmp(&tls->digests, &digests, sizeof(digests)) == 0;
}

/* ---- one link ---- */

struct h2_tls_link *h2_tls_link_new(struct h2_tls *tls, const char *host)
{
	struct h2_tls_link *link = memory_alloc(sizeof(*link));
	BIO *bio = BIO_new(tls->method);

	link->tls = h2_tls_reference(tls);
	link->ssl = SSL_new(tls->context);
	buf_init(&link->output, H2_TLS_OUTPUT_CEILING_BYTES);
	CHECK(link->ssl && bio);
	BIO_set_data(bio, link);
	BIO_set_init(bio, 1);
	SSL_set_bio(link->ssl, bio, bio); /* passes the one reference for both */
	SSL_set_connect_state(link->ssl);
	CHECK(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(link->ssl), host));
	return link;
}

void h2_tls_link_free(struct h2_tls_link *link)
{
	if (!link)
		return;
	SSL_free(link->ssl);
	buf_done(&link->output);
	h2_tls_release(link->tls);
	memory_free(link);
}

void h2_tls_link_feed(struct h2_tls_link *link, const void *data, size_t size)
{
	link->input = data;
	link->input_size = size;
}

/* Alerts by which the server refuses us (RFC 8446, 6.2), as OpenSSL reports them. */
static bool h2_tls_is_refusal(unsigned long code)
{
	int reason = ERR_GET_REASON(code);

	if (ERR_GET_LIB(code) != ERR_LIB_SSL)
		return false;
	switch (reason) {
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
		return true;
	default:
		return false;
	}
}

/* The next step for a certificate of the server that is refused. */
static const char *h2_tls_cure(long verified)
{
	switch (verified) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return "renew it, and recreate the head Pod, because Ray reads it once";
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return "check the clocks of the machines";
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return "the certificate must have the head's address in its SANs";
	default:
		return "the CA of this client must have signed the head's certificate";
	}
}

/* 0: no error, more bytes are needed. */
static int h2_tls_link_result(struct h2_tls_link *link, int result, struct err *err)
{
	int error = SSL_get_error(link->ssl, result);
	unsigned long code = ERR_peek_last_error();
	long verified = SSL_get_verify_result(link->ssl);

	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return 0;
	if (error == SSL_ERROR_ZERO_RETURN)
		return err_set(err, ERR_RETRY, "the server ended the TLS connection");
	if (verified != X509_V_OK)
		return err_set(err, ERR_DENIED, "the server's certificate is refused: %s; %s",
			       X509_verify_cert_error_string(verified), h2_tls_cure(verified));
	if (h2_tls_is_refusal(code))
		return err_set(err, ERR_DENIED,
			       "the server refuses our certificate: %s; Ray wants one "
			       "that its own CA has signed",
			       h2_tls_reason());
	return err_set(err, ERR_RETRY, "TLS failed: %s; does Ray listen with TLS?",
		       code ? h2_tls_reason() : "broken off");
}

int h2_tls_link_handshake(struct h2_tls_link *link, struct err *err)
{
	const unsigned char *alpn;
	unsigned alpn_size;

	ERR_clear_error();
	int result = SSL_do_handshake(link->ssl);
	if (result != 1)
		return h2_tls_link_result(link, result, err);
	SSL_get0_alpn_selected(link->ssl, &alpn, &alpn_size);
	if (alpn_size != 2 || memcmp(alpn, "h2", 2) != 0)
		return err_set(err, ERR_RETRY, "the server speaks TLS, but not HTTP/2 (ALPN)");
	return 1;
}

long h2_tls_link_read(struct h2_tls_link *link, void *ret_data, size_t size, struct err *err)
{
	size_t got = 0;

	ERR_clear_error();
	int result = SSL_read_ex(link->ssl, ret_data, size, &got);
	if (result == 1)
		return (long)got;
	return h2_tls_link_result(link, result, err);
}

int h2_tls_link_write(struct h2_tls_link *link, const void *data, size_t size, struct err *err)
{
	size_t sent = 0;

	if (size == 0)
		return 0;
	ERR_clear_error();
	int result = SSL_write_ex(link->ssl, data, size, &sent);
	if (result == 1 && sent == size)
		return 0;
	if (h2_tls_link_result(link, result, err) < 0)
		return -1;
	return err_set(err, ERR_RETRY, "TLS cannot write before it has read");
}

struct buf *h2_tls_link_output(struct h2_tls_link *link)
{
	return &link->output;
}
