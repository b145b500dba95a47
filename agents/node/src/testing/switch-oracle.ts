import type { DirectAttribute, EntryAction, SwitchEntry, SwitchField, SwitchGroup, SwitchSpec } from '@orrery/contract';

/** What a frame is to a switch; fields that it lacks are 0, as the contract of `SwitchMatch` has it. */
type Seen = Record<SwitchField, bigint> & { ipv6_dst: bigint | null };

export interface Sent {
  readonly port: string;
  readonly frame: Buffer;
}
export interface Outcome {
  readonly sent: readonly Sent[];
  /** Indices of the entries that took the frame. */
  readonly taken: readonly number[];
}

/**
 * What a switch that holds the specification does with a frame, read from the contract alone.
 */
export function outcome(spec: SwitchSpec, port: string, frame: Buffer): Outcome {
  return new Walk(spec, port, Buffer.from(frame)).run();
}

class Walk {
  private readonly sent: Sent[] = [];
  private readonly taken: number[] = [];
  private readonly seen: Seen;

  constructor(
    private readonly spec: SwitchSpec,
    private readonly port: string,
    private readonly frame: Buffer,
  ) {
    this.seen = fieldsOf(frame);
  }

  run(): Outcome {
    let table: string | null = 'admit';
    while (table !== null) table = this.pass(table);
    return { sent: this.sent, taken: this.taken };
  }

  private pass(table: string): string | null {
    const [best] = this.spec.entries
      .map((entry, index) => ({ entry, index }))
      .filter(({ entry }) => entry.table === table && this.matches(entry))
      .sort((a, b) => b.entry.priority - a.entry.priority);
    if (!best) return null;
    this.taken.push(best.index);
    return this.act(best.entry.actions, this.frame);
  }

  private matches({ match }: SwitchEntry): boolean {
    if (match.port !== undefined && match.port !== this.port) return false;
    if (match.ipv6_dst !== undefined && this.seen.ipv6_dst !== ipv6(match.ipv6_dst)) return false;
    return Object.entries(match.fields).every(([field, one]) => {
      const value = this.seen[field as SwitchField];
      const holds =
        'lo' in one
          ? value >= BigInt(one.lo) && value <= BigInt(one.hi)
          : (value & BigInt(one.mask)) === BigInt(one.value);
      return holds !== (one.not === true);
    });
  }

  /** The next table. */
  private act(actions: readonly EntryAction[], frame: Buffer): string | null {
    for (const action of actions) {
      switch (action.do) {
        case 'drop':
          return null;
        case 'set-mac':
          Buffer.from(action.mac.replaceAll(':', ''), 'hex').copy(frame, action.field === 'eth.dst' ? 0 : 6);
          break;
        case 'set-hop':
          frame.writeUInt16BE(action.hop, 2);
          break;
        case 'mark-from-host':
          this.seen.from_host = 1n;
          break;
        case 'decrement-ttl':
          if (frame[22]! < 2) return null;
          frame[22]! -= 1;
          frame.writeUInt16BE(0, 24);
          frame.writeUInt16BE(checksum(frame.subarray(14, 14 + 4 * (frame[14]! & 15))), 24);
          break;
        case 'output':
          this.sent.push({ port: action.port, frame: Buffer.from(frame) });
          break;
        case 'group':
          this.group(action.group, frame);
          break;
        case 'hash-flow':
          this.seen.flow_id = flowHash(this.seen, action.key);
          this.seen.split = BigInt(action.split);
          break;
        case 'enter-nfs':
          this.seen.nfs = BigInt(action.nfs);
          break;
        case 'meter':
          break;
        case 'next-table':
          if (action.table === 'nf-1') this.seePortsOfFirstFragment();
          return action.table;
        case 'keep-flow':
          throw new Error('the oracle keeps no flows');
      }
    }
    return null;
  }

  /** Entries of NFs match the ports that a first fragment carries. */
  private seePortsOfFirstFragment(): void {
    const { seen, frame } = this;
    if (seen['ip.later'] === 1n || ![6n, 17n].includes(seen['ip.proto'])) return;
    const at = 14 + 4 * (frame[14]! & 15);
    seen['port.src'] = word(frame, at);
    seen['port.dst'] = word(frame, at + 2);
  }

  private group(id: number, frame: Buffer): void {
    const group: SwitchGroup = this.spec.groups.find((one) => one.id === id)!;
    if (group.kind === 'all') {
      for (const { actions } of group.buckets) this.act(actions, Buffer.from(frame));
      return;
    }
    const total = group.buckets.reduce((sum, { weight }) => sum + weight, 0);
    const at = Number(flowHash(this.seen, group.key));
    let before = 0;
    for (const { weight, actions } of group.buckets) {
      before += weight;
      if (at >= Math.floor((before / total) * 65536)) continue;
      this.act(actions, frame);
      return;
    }
  }
}

const word = (frame: Buffer, at: number) => BigInt(frame.length >= at + 2 ? frame.readUInt16BE(at) : 0);

function fieldsOf(frame: Buffer): Seen {
  const seen: Seen = {
    'eth.dst': BigInt(`0x${frame.subarray(0, 6).toString('hex')}`),
    'eth.src': BigInt(`0x${frame.subarray(6, 12).toString('hex')}`),
    'eth.type': word(frame, 12),
    'ip.src': 0n,
    'ip.dst': 0n,
    'ip.proto': 0n,
    'ip.fragment': 0n,
    'ip.later': 0n,
    'port.src': 0n,
    'port.dst': 0n,
    from_host: 0n,
    flow_id: 0n,
    split: 0n,
    nfs: 0n,
    ipv6_dst: null,
  };
  if (seen['eth.type'] === 0x86ddn && frame.length >= 54)
    seen.ipv6_dst = BigInt(`0x${frame.subarray(38, 54).toString('hex')}`);
  if (seen['eth.type'] !== 0x0800n) return seen;
  seen['ip.proto'] = BigInt(frame[23]!);
  seen['ip.src'] = BigInt(frame.readUInt32BE(26));
  seen['ip.dst'] = BigInt(frame.readUInt32BE(30));
  seen['ip.fragment'] = (frame.readUInt16BE(20) & 0x3fff) === 0 ? 0n : 1n;
  seen['ip.later'] = (frame.readUInt16BE(20) & 0x1fff) === 0 ? 0n : 1n;
  if (seen['ip.fragment'] === 0n && [6n, 17n].includes(seen['ip.proto'])) {
    const at = 14 + 4 * (frame[14]! & 15);
    seen['port.src'] = word(frame, at);
    seen['port.dst'] = word(frame, at + 2);
  }
  return seen;
}

/** H(f) (E2 3.4.4), as `agents/support/flow_hash.h` defines it for every server. */
export function flowHash(seen: Record<DirectAttribute, bigint>, key: readonly DirectAttribute[]): bigint {
  const word64 = (1n << 64n) - 1n;
  const mix = (value: bigint) => {
    let x = value & word64;
    x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & word64;
    x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & word64;
    return x ^ (x >> 31n);
  };
  const of = (field: DirectAttribute) => (key.includes(field) ? seen[field] : 0n);
  const addresses = (of('ip.src') << 32n) | of('ip.dst');
  const rest = (of('ip.proto') << 32n) | (of('port.src') << 16n) | of('port.dst');
  return mix(mix(addresses + 0x9e3779b97f4a7c15n) ^ (rest + 0x7f4a7c15n)) >> 48n;
}

/** Of the header of IPv4 (RFC 1071), whose own field must be 0. */
export function checksum(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < header.length; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

function ipv6(address: string): bigint {
  const [head = '', tail = ''] = address.split('::');
  const words = (text: string) => text.split(':').filter((one) => one !== '');
  const gap = 8 - words(head).length - words(tail).length;
  return [...words(head), ...Array.from({ length: gap }, () => '0'), ...words(tail)].reduce(
    (number, one) => (number << 16n) | BigInt(`0x${one}`),
    0n,
  );
}
