import { EXTERNAL_PREFIX, type FieldError, type Infrastructure, type NodeAddress } from '@orrery/contract';

/** Each address is a usable unicast address and belongs to exactly one interface, which has a link. */
export function addressErrors({ hosts, servers, links }: Infrastructure): FieldError[] {
  const errors: FieldError[] = [];
  const owners = new Map<string, string>();
  const ends = links.flatMap(({ a, b }) => [a, b]);

  const check = (pointer: string, id: string, { address, port }: NodeAddress) => {
    const problem = addressProblem(address);
    if (problem) errors.push({ pointer: `${pointer}/address`, ...problem });
    const owner = owners.get(address);
    if (owner) errors.push({ pointer: `${pointer}/address`, detail: `is also used by ${owner}`, code: 'duplicate-id' });
    owners.set(address, id);
    if (port && !ends.some((end) => end.node === id && end.port === port))
      errors.push({ pointer: `${pointer}/port`, detail: `port "${port}" of ${id} has no link`, code: 'unknown-port' });
  };

  hosts.forEach(({ id, addresses }, index) => {
    addresses.forEach((each, at) => {
      check(`/hosts/${index}/addresses/${at}`, id, each);
    });
  });
  servers.forEach(({ id, addresses, nics }, index) => {
    addresses.forEach((each, at) => {
      const pointer = `/servers/${index}/addresses/${at}`;
      check(pointer, id, each);
      if ((each.port ?? nics[0]!.name) === nics[0]!.name)
        errors.push({
          pointer: `${pointer}/port`,
          detail: `the data plane owns "${nics[0]!.name}": an address needs another NIC`,
          code: 'port-in-use',
        });
    });
  });
  return errors;
}

function addressProblem(address: string): Omit<FieldError, 'pointer'> | null {
  const unusable = { detail: 'is not a unicast address that a host can have', code: 'reserved' };
  if (address.includes(':')) {
    const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
    if (canonical !== address) return { detail: `must be written ${canonical} (RFC 5952)`, code: 'not-canonical' };
    // Unspecified, loopback, mapped IPv4, link-local and multicast.
    return /^(::|fe[89ab]|ff)/.test(address) ? unusable : null;
  }
  const [first, second] = address.split('.').map(Number) as [number, number];
  if (first === 198 && (second === 18 || second === 19))
    return { detail: `is in ${EXTERNAL_PREFIX}, which address translation uses`, code: 'reserved' };
  return first === 0 || first === 127 || first >= 224 || (first === 169 && second === 254) ? unusable : null;
}
