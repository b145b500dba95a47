const DEADLINE_EXCEEDED = 4;
const UNAVAILABLE = 14;

/** A failed call for operators of networks: without the words of gRPC's own. `code` is that of gRPC. */
export function failureWords(address: string, { code, message }: { readonly code: number; readonly message: string }) {
  if (code === DEADLINE_EXCEEDED || code === UNAVAILABLE)
    return `the switch's process does not answer (P4Runtime at ${address})`;
  return `P4Runtime at ${address}: ${message.replace(/^\d+ [A-Z_]+: /, '').replace(/\s*Resolution note:.*$/s, '')}`;
}
