import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

/** Certificate authorities of a Debian system; Node itself only uses its own list. */
const SYSTEM = '/etc/ssl/certs/ca-certificates.crt';

/**
 * Certificate authorities, as PEM, one of which must have signed the server's certificate: those of the file, or else the
 * system's. `undefined`: Node's. Throws when the file cannot be used.
 */
export function trustedAuthorities(path: string | null): string | undefined {
  if (path === null) return existsSync(SYSTEM) ? readFileSync(SYSTEM, 'utf8') : undefined;
  const pem = readFileSync(path, 'utf8');
  try {
    new X509Certificate(pem);
  } catch {
    throw new Error(`${path} contains no certificate (PEM)`);
  }
  return pem;
}

const UNTRUSTED = new Set([
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);

/** Why a connection failed, with advice if the server's certificate is the cause. */
export function connectionFault(error: Error & { readonly code?: string }): string {
  if (UNTRUSTED.has(error.code ?? ''))
    return `the server's certificate is not signed by a trusted authority (${error.message}); give the authority with --ca`;
  if (error.code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `the server's certificate is for another host (${error.message})`;
  if (error.code === 'CERT_HAS_EXPIRED') return "the server's certificate has expired";
  return error.message;
}
