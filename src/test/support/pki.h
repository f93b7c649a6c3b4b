/* A certificate authority that lives for one test: PEM texts made with OpenSSL.
 * The texts are freed with memory_free. */
#ifndef TEST_SUPPORT_PKI_H
#define TEST_SUPPORT_PKI_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/check.h"
#include "base/memory.h"

struct pki_identity {
	EVP_PKEY *key;
	X509 *certificate;
	char *key_pem, *certificate_pem;
};

/* issuer NULL: a CA. alternative_names: "IP:127.0.0.1,DNS:kube.test", NULL for none. */
struct pki_identity pki_new(const char *name, const struct pki_identity *issuer,
			    const char *alternative_names);

void pki_done(struct pki_identity *identity);

#endif
