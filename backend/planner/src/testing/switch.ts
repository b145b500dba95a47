import type {
  DirectAttribute,
  EntryAction,
  FieldMatch,
  Infrastructure,
  SwitchEntry,
  SwitchField,
  SwitchSpec,
} from '@orrery/contract';

/** A frame as a switch reads it: numbers by field. Fields that the frame does not have are absent. */
export interface Frame {
  readonly fields: Readonly<Partial<Record<SwitchField, number>>>;
  readonly ipv6_dst?: string;
  readonly source: string;
  readonly ttl: number;
}

export interface Sent {
  readonly port: string;
  readonly frame: Frame;
}

type Spec = Pick<SwitchSpec, 'entries' | 'groups'>;

const numberOf = (mac: string) => Number(`0x${mac.split(':').join('')}`);

function holds(match: FieldMatch, value: number | undefined): boolean {
  if (value === undefined) return false;
  const inside =
    'mask' in match
      ? (BigInt(value) & BigInt(match.mask)) === BigInt(match.value)
      : match.lo <= value && value <= match.hi;
  return inside !== (match.not ?? false);
}

function matches({ match }: SwitchEntry, port: string, frame: Frame): boolean {
  if (match.port !== undefined && match.port !== port) return false;
  if (match.ipv6_dst !== undefined && match.ipv6_dst !== frame.ipv6_dst) return false;
  return Object.entries(match.fields).every(([field, one]) => holds(one, frame.fields[field as SwitchField]));
}

/**
 * What a switch does with a frame, by the meaning of its entries alone: an oracle that shares no code with the planner.
 * `hashOf` hashes flows, `pick` chooses a bucket of a group. Throws where two entries of one priority would both take the frame.
 */
export function runSwitch(
  { entries, groups }: Spec,
  port: string,
  start: Frame,
  hashOf: (frame: Frame, key: readonly DirectAttribute[]) => number = () => 0,
  pick: (group: SwitchSpec['groups'][number], frame: Frame) => number = () => 0,
): { readonly sent: Sent[]; readonly rules: (string | null)[] } {
  let frame: Frame = { ...start, fields: { ...start.fields, 'eth.src': numberOf(start.source), from_host: 0 } };
  let table: SwitchEntry['table'] | null = 'admit';
  const sent: Sent[] = [];
  const rules: (string | null)[] = [];
  const perform = (action: EntryAction): void => {
    switch (action.do) {
      case 'set-mac':
        if (action.field === 'eth.src') frame = { ...frame, source: action.mac };
        else frame = { ...frame, fields: { ...frame.fields, 'eth.dst': numberOf(action.mac) } };
        return;
      case 'set-hop': {
        const { 'eth.dst': tag = 0 } = frame.fields;
        frame = {
          ...frame,
          fields: { ...frame.fields, 'eth.dst': 0x020e_0000_0000 + action.hop * 0x1_0000 + (tag % 0x1_0000) },
        };
        return;
      }
      case 'mark-from-host':
        frame = { ...frame, fields: { ...frame.fields, from_host: 1 } };
        return;
      case 'decrement-ttl':
        frame = { ...frame, ttl: frame.ttl - 1 };
        return;
      case 'output':
        if (frame.ttl > 0) sent.push({ port: action.port, frame });
        return;
      case 'group': {
        const group = groups.find(({ id }) => id === action.group);
        if (!group) throw new Error(`no group ${action.group}`);
        if (group.kind === 'select') {
          group.buckets[pick(group, frame)]!.actions.forEach(perform);
          return;
        }
        const whole = frame;
        for (const { actions } of group.buckets) {
          frame = whole;
          actions.forEach(perform);
        }
        frame = whole;
        return;
      }
      case 'hash-flow':
        frame = { ...frame, fields: { ...frame.fields, split: action.split, flow_id: hashOf(frame, action.key) } };
        return;
      case 'keep-flow':
        return;
      case 'enter-nfs':
        frame = { ...frame, fields: { ...frame.fields, nfs: action.nfs } };
        return;
      case 'meter':
        return;
      case 'next-table':
        table = action.table;
        return;
      case 'drop':
    }
  };
  while (table !== null) {
    const here: SwitchEntry['table'] = table;
    table = null;
    const taking = entries.filter((entry) => entry.table === here && matches(entry, port, frame));
    const priority = Math.max(...taking.map((entry) => entry.priority));
    const [entry, ...rivals] = taking.filter((one) => one.priority === priority);
    if (!entry) break;
    if (rivals.some(({ actions }) => JSON.stringify(actions) !== JSON.stringify(entry.actions)))
      throw new Error(`${rivals.length + 1} entries of one priority take the frame`);
    rules.push(entry.rule_id);
    entry.actions.forEach(perform);
  }
  return { sent, rules };
}

/** The server or host that a frame comes to over switches, and how it looks there; `null`: it was dropped. */
export function carry(
  specs: ReadonlyMap<string, Spec>,
  infrastructure: Infrastructure,
  from: string,
  start: Frame,
): { readonly node: string; readonly frame: Frame } | null {
  const across = (node: string, port?: string) => {
    for (const { a, b } of infrastructure.links) {
      if (a.node === node && (port === undefined || a.port === port)) return b;
      if (b.node === node && (port === undefined || b.port === port)) return a;
    }
    throw new Error(`${node} has no link ${port ?? ''}`);
  };
  let at = across(from);
  let frame = start;
  for (let steps = 0; steps < 100; steps++) {
    const spec = specs.get(at.node);
    if (!spec) return { node: at.node, frame };
    const { sent } = runSwitch(spec, at.port, frame);
    if (sent.length === 0) return null;
    if (sent.length > 1) throw new Error('the frame was copied');
    frame = sent[0]!.frame;
    at = across(at.node, sent[0]!.port);
  }
  throw new Error('the frame circles');
}
