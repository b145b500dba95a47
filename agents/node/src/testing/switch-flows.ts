import { SwitchSpec as Spec, type SwitchAbilities, type SwitchSpec } from '@orrery/contract';
import type { Sent } from './switch-oracle.js';
import { exact, matched, meteredFrames, meteredSpec, pieces } from './switch-programs.js';

const SPLIT = 7;
const FIVE_TUPLE = ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'];
const IPV4 = exact(0x0800, 16);
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
        { do: 'hash-flow', key: FIVE_TUPLE, split: SPLIT },
        { do: 'next-table', table: keep ? 'keep' : 'split' },
      ),
      ...(keep ? [put('keep', 0, {}, { do: 'next-table', table: 'split' })] : []),
      ...(border > 0 ? ranges([0, border - 1], 'p2', 1) : []),
      ...ranges([border, LAST], 'p3', 2),
    ],
  });
}

/** The first packet of each flow; flows differ in the source port. */
export function flowFrames(flows: readonly number[]): Sent[] {
  const [one] = meteredFrames(1);
  return flows.map((flow) => {
    const frame = Buffer.from(one!.frame);
    frame.writeUInt16BE(1000 + flow, 34);
    return { port: 'p1', frame };
  });
}

/** The port by which each of the flows left; undefined: it did not. */
export function waysOf(flows: readonly number[], came: readonly Sent[]): (string | undefined)[] {
  return flows.map((flow) => came.find(({ frame }) => frame.readUInt16BE(34) === 1000 + flow)?.port);
}
