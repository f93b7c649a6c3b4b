/* Certificates made in memory for tests of TLS. Header only. */
#ifndef TEST_SUPPORT_TLS_MATERIAL_H
#define TEST_SUPPORT_TLS_MATERIAL_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

struct tls_identity {
	EVP_PKEY *key;
	X509 *certificate;
	char *key_pem, *cert_pem;
};

__attribute__((unused)) static char *tls_text(BIO *bio)
{
	char *data, *text;
	long size = BIO_get_mem_data(bio, &data);

	text = memory_strndup(data, (size_t)size);
	BIO_free(bio);
	return text;
}

__attribute__((unused)) static void tls_extend(X509 *certificate, int nid, const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	assert_non_null(extension);
	assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
	X509_EXTENSION_free(extension);
}

/* Signed by `issuer`, by itself when that is NULL (then it is a CA). names: "IP:127.0.0.1" or NULL.
 * Valid from `from` to `to`, in seconds from now. */
__attribute__((unused)) static struct tls_identity
tls_identity_between(const char *common_name, const char *names, const struct tls_identity *issuer,
		     long from, long to)
{
	struct tls_identity identity = { .key = EVP_EC_gen("P-256"), .certificate = X509_new() };
	X509_NAME *name = X509_get_subject_name(identity.certificate);
	BIO *bio;

	assert_int_equal(X509_set_version(identity.certificate, X509_VERSION_3), 1);
	ASN1_INTEGER_set(X509_get_serialNumber(identity.certificate), issuer ? 2 : 1);
	X509_gmtime_adj(X509_getm_notBefore(identity.certificate), from);
	X509_gmtime_adj(X509_getm_notAfter(identity.certificate), to);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1,
				   -1, 0);
	X509_set_issuer_name(identity.certificate,
			     issuer ? X509_get_subject_name(issuer->certificate) : name);
	X509_set_pubkey(identity.certificate, identity.key);
	if (!issuer)
		tls_extend(identity.certificate, NID_basic_constraints, "critical,CA:TRUE");
	if (names)
		tls_extend(identity.certificate, NID_subject_alt_name, names);
	assert_true(X509_sign(identity.certificate, issuer ? issuer->key : identity.key,
			      EVP_sha256()) > 0);
	bio = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_X509(bio, identity.certificate), 1);
	identity.cert_pem = tls_text(bio);
	bio = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_PrivateKey(bio, identity.key, NULL, NULL, 0, NULL, NULL), 1);
	identity.key_pem = tls_text(bio);
	return identity;
}

/* The same, valid now. */
__attribute__((unused)) static struct tls_identity
tls_identity_new(const char *common_name, const char *names, const struct tls_identity *issuer)
{
	return tls_identity_between(common_name, names, issuer, -3600, 3600);
}

__attribute__((unused)) static void tls_identity_done(struct tls_identity *identity)
{
	EVP_PKEY_free(identity->key);
	X509_free(identity->certificate);
	memory_free(identity->key_pem);
	memory_free(identity->cert_pem);
}

#endif
