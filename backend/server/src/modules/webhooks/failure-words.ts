import { STATUS_CODES } from 'node:http';

interface Place {
  readonly hostname: string;
  /** With the port. */
  readonly at: string;
}

const notAccepted = (why: string) => (place: Place) =>
  `the TLS certificate of ${place.hostname} is not accepted: ${why}`;
const UNKNOWN_AUTHORITY = notAccepted('this server does not know the authority that signed it');

/** By the code of the error that `fetch` gives as the cause (those of Node, c-ares, OpenSSL and undici). */
const WORDS: Readonly<Record<string, (place: Place) => string>> = {
  ENOTFOUND: ({ hostname }) => `the name ${hostname} is not found`,
  EAI_AGAIN: ({ hostname }) => `the name ${hostname} cannot be looked up now: no name server answers`,
  ECONNREFUSED: ({ at }) => `nothing listens at ${at}: the connection was refused`,
  ECONNRESET: ({ at }) => `${at} closed the connection before it answered`,
  EPIPE: ({ at }) => `${at} closed the connection before it answered`,
  UND_ERR_SOCKET: ({ at }) => `${at} closed the connection before it answered`,
  ETIMEDOUT: ({ at }) => `no connection to ${at} in time`,
  UND_ERR_CONNECT_TIMEOUT: ({ at }) => `no connection to ${at} in time`,
  EHOSTUNREACH: ({ hostname }) => `no way leads to ${hostname}`,
  ENETUNREACH: ({ hostname }) => `no way leads to ${hostname}`,
  ERR_TLS_CERT_ALTNAME_INVALID: notAccepted('it is for another name'),
  CERT_HAS_EXPIRED: notAccepted('it has expired'),
  CERT_NOT_YET_VALID: notAccepted('it is not valid yet'),
  DEPTH_ZERO_SELF_SIGNED_CERT: notAccepted('it is signed by itself'),
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
};

/** Why a request that `fetch` threw at did not get through, for operators. */
export function failureWords(error: Error, address: string): string {
  const { hostname, port, protocol } = new URL(address);
  const place = { hostname, at: `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}` };
  const { name, code = '', message } = causeOf(error);
  const words = WORDS[code]?.(place);
  if (words !== undefined) return words;
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return `${place.at} does not answer by TLS: ${code}`;
  if (code.startsWith('CERT_')) return notAccepted(message)(place);
  // Undici's parser gives no code for some errors.
  if (name === 'HTTPParserError' || code.startsWith('HPE_')) return `${place.at} does not answer by HTTP`;
  if (message === 'bad port') return `nothing is sent to port ${port}, which belongs to another protocol`;
  return `${place.at} was not reached: ${message}`;
}

/** Of several addresses of a host, each has an error of its own. */
function causeOf({ name, message, cause }: Error): Pick<NodeJS.ErrnoException, 'name' | 'code' | 'message'> {
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error ? first : { name, message };
}

/** Why an answer is no receipt. `location`: where it sends the sender. */
export function statusWords(status: number, location: string | null): string {
  const answered = `the receiver answered ${[status, STATUS_CODES[status]].filter(Boolean).join(' ')}`;
  if (status < 300 || status >= 400) return answered;
  return `${answered}, and no redirect is followed${location === null ? '' : `: it leads to ${location}`}`;
}
