import { SwitchSpec as Spec, type SwitchAbilities, type SwitchException, type SwitchSpec } from '@orrery/contract';
import { checksum, type Sent } from './switch-oracle.js';
import { exact, matched, meteredFrames, meteredSpec, pieces } from './switch-programs.js';

const SPLIT = 7;
const FIVE_TUPLE = ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'];
const IPV4 = exact(0x0800, 16);
const IPV4_FIELDS = { 'eth.type': IPV4 };
const LAST = 0xffff;

export interface Keep {
  readonly capacity: number;
  readonly idle_timeout_s: number;
}

/** What comes from a host goes to the second port where its flow hash is below the border, and to the third. */
export function splitSpec(
  generation: number,
  { match }: SwitchAbilities,
  border: number,
  keep: Keep | null,
  key: readonly string[] = FIVE_TUPLE,
): SwitchSpec {
  const base = meteredSpec(generation);
  const put = (table: string, priority: number, fields: object, ...actions: object[]) => ({
    ...{ table, priority, rule_id: table === 'keep' ? null : 'classify/c.e1', match: { fields }, actions },
  });
  const ranges = ([lo, hi]: [number, number], port: string, hop: number) =>
    pieces(lo, hi).map((piece) =>
      put(
        'split',
        100,
        { 'eth.type': IPV4, split: exact(SPLIT, 16), flow_id: matched(piece, match) },
        ...(keep ? [{ do: 'keep-flow', split: SPLIT, ...keep }] : []),
        { do: 'set-mac', field: 'eth.dst', mac: `02:0e:00:0${hop}:00:00` },
        { do: 'output', port },
      ),
    );
  return Spec.parse({
    ...base,
    meters: undefined,
    entries: [
      ...base.entries.filter(({ table }) => table === 'admit'),
      put(
        'steer',
        10,
        { 'eth.type': IPV4 },
        { do: 'hash-flow', key: [...key], split: SPLIT },
        { do: 'next-table', table: keep ? 'keep' : 'split' },
      ),
      ...(keep ? [put('keep', 0, {}, { do: 'next-table', table: 'split' })] : []),
      ...(border > 0 ? ranges([0, border - 1], 'p2', 1) : []),
      ...ranges([border, LAST], 'p3', 2),
    ],
  });
}

/** The same with flows that go to the second port until they end, although the ranges say otherwise. */
export function handedOver(spec: SwitchSpec, flows: readonly SwitchException[]): SwitchSpec {
  const onward = { do: 'next-table', table: 'split' };
  const entries = spec.entries.map((entry) =>
    entry.table === 'steer'
      ? { ...entry, actions: entry.actions.map((it) => (it.do === 'next-table' ? { ...it, table: 'keep' } : it)) }
      : entry,
  );
  const unkept = { table: 'keep', priority: 0, rule_id: null, match: { fields: {} }, actions: [onward] };
  return Spec.parse({ ...spec, entries: [...entries, unkept], exceptions: flows });
}

/** The first packet of each flow; flows differ in the source port. */
export function flowFrames(flows: readonly number[]): Sent[] {
  const [one] = meteredFrames(1);
  return flows.map((flow) => {
    const frame = Buffer.from(one!.frame);
    frame.writeUInt16BE(1000 + flow, 34);
    frame.writeUInt16BE(flow, 18);
    frame.writeUInt16BE(0, 24);
    frame.writeUInt16BE(checksum(frame.subarray(14, 34)), 24);
    return { port: 'p1', frame };
  });
}

/** The same with other flags and fragment offset in its IPv4 header. */
export function fragmentOf({ port, frame: whole }: Sent, field: number): Sent {
  const frame = Buffer.from(whole);
  frame.writeUInt16BE(field, 20);
  frame.writeUInt16BE(0, 24);
  frame.writeUInt16BE(checksum(frame.subarray(14, 34)), 24);
  return { port, frame };
}

/** The same with another destination and protocol. */
export function elsewhere({ port, frame }: Sent): Sent {
  const other = Buffer.from(frame);
  other.writeUInt8(6, 23);
  other.writeUInt8(77, 33);
  other.writeUInt16BE(0, 24);
  other.writeUInt16BE(checksum(other.subarray(14, 34)), 24);
  return { port, frame: other };
}

/** The port by which each of the flows left; undefined: it did not. */
export function waysOf(flows: readonly number[], came: readonly Sent[]): (string | undefined)[] {
  return flows.map((flow) => came.find(({ frame }) => frame.readUInt16BE(34) === 1000 + flow)?.port);
}

/** What comes from a host goes to the second port, and what comes from there, out of its chain, to the third. */
export function chainSpec(generation: number, abilities: SwitchAbilities): SwitchSpec {
  const split = splitSpec(generation, abilities, 0, null);
  const gateway = { ...IPV4_FIELDS, 'eth.dst': exact(0x020e_ffff_fffe, 48) };
  const put = (table: string, priority: number, rule_id: string | null, match: object, ...actions: object[]) => ({
    ...{ table, priority, rule_id, match, actions },
  });
  const sent = (mac: string, port: string) => [
    { do: 'set-mac', field: 'eth.dst', mac },
    { do: 'output', port },
  ];
  return Spec.parse({
    ...split,
    entries: [
      ...split.entries.filter(({ table }) => table === 'admit'),
      put('admit', 200, null, { port: 'p2', fields: gateway }, { do: 'next-table', table: 'steer' }),
      put(
        'steer',
        10,
        'classify/c.e1',
        { fields: { ...IPV4_FIELDS, from_host: exact(1, 1) } },
        ...sent('02:0e:00:01:00:00', 'p2'),
      ),
      put('steer', 0, null, { fields: {} }, { do: 'next-table', table: 'route' }),
      put('route', 0, null, { fields: {} }, ...sent('02:00:00:00:00:03', 'p3')),
    ],
  });
}

/** How many of the frames are stamped: one in 16, of those that have the same place the last one. */
export function stamped(frames: readonly Sent[]): number {
  const places = frames.flatMap(({ frame }) => {
    const [addresses, protocol, ports] = [frame.subarray(26, 34), frame.subarray(23, 24), frame.subarray(34, 38)];
    const identification = frame.subarray(18, 20);
    const hash = crc32(Buffer.concat([addresses, protocol, ports, identification]));
    return (identification[1]! & 15) === 1 ? [hash >>> 20] : [];
  });
  return new Set(places).size;
}

/** IEEE 802.3, bit by bit. */
function crc32(bytes: Buffer): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0);
  }
  return ~crc >>> 0;
}
