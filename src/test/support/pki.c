#include "test/support/pki.h"

static char *pki_take(BIO *bio)
{
	char *data;
	long size = BIO_get_mem_data(bio, &data);
	char *text = memory_strndup(data, (size_t)size);

	BIO_free(bio);
	return text;
}

static void pki_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	CHECK(extension);
	CHECK(X509_add_ext(certificate, extension, -1));
	X509_EXTENSION_free(extension);
}

struct pki_identity pki_new(const char *name, const struct pki_identity *issuer,
			    const char *alternative_names)
{
	static long serial = 1;
	struct pki_identity identity = { .key = EVP_EC_gen("P-256"), .certificate = X509_new() };
	X509 *certificate = identity.certificate;
	X509_NAME *subject = X509_get_subject_name(certificate);
	BIO *bio;

	CHECK(identity.key && certificate);
	CHECK(X509_set_version(certificate, X509_VERSION_3));
	CHECK(ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++));
	CHECK(X509_gmtime_adj(X509_getm_notBefore(certificate), -3600));
	CHECK(X509_gmtime_adj(X509_getm_notAfter(certificate), 86400));
	CHECK(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name,
					 -1, -1, 0));
	CHECK(X509_set_issuer_name(certificate,
				   issuer ? X509_get_subject_name(issuer->certificate) : subject));
	CHECK(X509_set_pubkey(certificate, identity.key));
	if (!issuer)
		pki_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
	if (alternative_names)
		pki_extension(certificate, issuer ? issuer->certificate : certificate,
			      NID_subject_alt_name, alternative_names);
	CHECK(X509_sign(certificate, issuer ? issuer->key : identity.key, EVP_sha256()));

	bio = BIO_new(BIO_s_mem());
	CHECK(PEM_write_bio_X509(bio, certificate));
	identity.certificate_pem = pki_take(bio);
	bio = BIO_new(BIO_s_mem());
	CHECK(PEM_write_bio_PrivateKey(bio, identity.key, NULL, NULL, 0, NULL, NULL));
	identity.key_pem = pki_take(bio);
	return identity;
}

void pki_done(struct pki_identity *identity)
{
	EVP_PKEY_free(identity->key);
	X509_free(identity->certificate);
	memory_free(identity->key_pem);
	memory_free(identity->certificate_pem);
}
