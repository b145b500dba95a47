import {
  type EntryAction,
  FABRIC_GATEWAY_MAC,
  type FabricRule,
  type FieldMatch,
  FLOW_SPACE,
  keptFlowKey,
  type SwitchAbilities,
  type SwitchEntry,
  type SwitchException,
  type SwitchMeter,
  type SwitchSpec,
} from '@orrery/contract';
import { interval } from '../../check/interval-set.js';
import { addressToNumber } from '../../check/ipv4.js';
import { cover } from './cover.js';
import { fnv1a, GroupTable } from './groups.js';
import { ETHERTYPE, exactly, type Fields, fragmentsOf, Inability, matchesOf } from './match.js';
import { type NfEntries, nfEntries } from './nf-program.js';
import { hashedFields, splitsByRanges } from './split-ability.js';
import type { Endpoint, SwitchPlace } from './topology.js';

const PRIORITY = { fromHost: 400, hop: 300, guard: 300, gateway: 200, host: 200, range: 100, unsteered: 0 } as const;
/** Most that one rule may need: more are counted at best, not made. */
export const MOST_ENTRIES_A_RULE = 65_536;

const IPV4 = exactly('eth.type', ETHERTYPE.ipv4);
const IPV6 = exactly('eth.type', ETHERTYPE.ipv6);
const isIpv6 = (address: string) => address.includes(':');
const nextTable = (table: SwitchEntry['table']): EntryAction => ({ do: 'next-table', table });
const setMac = (field: 'eth.src' | 'eth.dst', mac: string): EntryAction => ({ do: 'set-mac', field, mac });
const output = (port: string): EntryAction => ({ do: 'output', port });
const UNKEPT: SwitchEntry = {
  table: 'keep',
  priority: 0,
  rule_id: null,
  match: { fields: {} },
  actions: [nextTable('split')],
};

/** Destination MAC of a packet in transit to a hop. */
export function tagMac(hop: number, metadata = 0): string {
  const byte = (value: number) => value.toString(16).padStart(2, '0');
  const word = (value: number) => `${byte(value >> 8)}:${byte(value & 0xff)}`;
  return `02:0e:${word(hop)}:${word(metadata)}`;
}

/** Every tag of a hop, whatever its metadata word. */
export function tagMatch(hop: number): FieldMatch {
  return { value: macNumber(tagMac(hop)), mask: 0xffff_ffff_0000 };
}

export function macNumber(mac: string): number {
  return Number.parseInt(mac.replaceAll(':', ''), 16);
}

type Target = FabricRule['targets'][number];
/** The packets that an entry takes. */
type Claim = Pick<SwitchEntry, 'table' | 'priority' | 'match'>;
interface KeyedClaim {
  readonly claim: Claim;
  /** The same for two claims of the same packets. */
  readonly key: string;
}
interface Known {
  /** Content of the abilities. */
  readonly abilities: string;
  readonly claims: readonly KeyedClaim[];
}
const KNOWN = new WeakMap<SwitchPlace, WeakMap<FabricRule, Known>>();
const KNOWN_FORWARDING = new WeakMap<
  SwitchPlace,
  { readonly abilities: string; readonly entries: readonly SwitchEntry[] }
>();

/**
 * The content of one switch, entry by entry.
 *
 * `admit` lists what each port may send; everything else is dropped.
 * - A host: IP packets without VLAN tags, from its own MAC to the gateway's. So no host can forge a hop, or the ingress
 *   time that engines read from the source MAC.
 * - A server's data plane and another switch: packets tagged with a hop that they have reason to send, which go to that
 *   hop's server, also back through the port they came from; and packets to the gateway, which left a chain or cross.
 * - A slot of a board: packets tagged with a hop that its shell has reason to write, and nothing else.
 *
 * A class that fails closed has its `guard` in `route`, behind all that steers: losing an entry of either table lets no
 * packet of the class pass. Fragments that may be of a class with a term on a port, which only its ports would tell, are
 * dropped in `steer` by the rule `fragment`, and once more by the guard.
 *
 * A `return` rule also takes frames that left a chain, and may send them to the server they came from. It decrements the
 * TTL as a router does, so a data plane that never restores the address cannot make a packet circle for ever.
 */
export class SwitchContent {
  private readonly entries: SwitchEntry[] = [];
  private readonly groups = new GroupTable();
  private reservedEntries = 0;
  private readonly exceptions: SwitchException[] = [];
  private leadsToSplit = false;
  private readonly meters: SwitchMeter[] = [];
  /** Content by the number of its meter. */
  private readonly meterNumbers = new Map<number, string>();
  /** Content by the number of its NFs. */
  private readonly nfs = new Map<number, string>();
  /** Rules by the number of their split. */
  private readonly splits = new Map<number, string>();
  /** Rule by what its entries match, to find two that claim the same packets. */
  private readonly owners = new Map<string, string>();
  /** The same for equal abilities, also where they come as copies. */
  private readonly content: string;

  constructor(
    readonly place: SwitchPlace,
    private readonly abilities: SwitchAbilities,
  ) {
    this.content = JSON.stringify(abilities);
    const known = KNOWN_FORWARDING.get(place);
    if (known?.abilities === this.content) {
      this.entries.push(...known.entries);
      return;
    }
    this.addForwarding();
    KNOWN_FORWARDING.set(place, { abilities: this.content, entries: [...this.entries] });
  }

  get spec(): Omit<SwitchSpec, 'generation'> {
    const meters = this.meters.length > 0 ? { meters: this.meters } : {};
    const exceptions = this.exceptions.length > 0 ? { exceptions: this.exceptions } : {};
    return { ports: [...this.place.ports], entries: this.entries, groups: this.groups.all, ...meters, ...exceptions };
  }

  /** Entries for flows that the switch keeps. */
  get reserved(): number {
    return this.reservedEntries;
  }

  /** With the exceptions of splits, which are entries for as long as their flows last. */
  get size(): number {
    return this.entries.length + this.exceptions.length;
  }

  /**
   * Adds the entries of a rule and says how many they are: none where no target can be reached from here, or no host of the
   * rule is attached. Throws an Inability or a Shortage, and has added nothing then.
   */
  add(rule: FabricRule): number {
    const all = this.knownClaims(rule);
    // Packets that another rule of the kind drops already are left to it.
    const claims = rule.targets.length === 0 ? all.filter(({ key }) => !this.owners.has(key)) : all;
    if (claims.length === 0) return 0;
    for (const { key } of claims) {
      const rival = this.owners.get(key);
      if (rival !== undefined)
        throw new Inability(`tell it from ${rival}: both match the same packets at one priority`);
    }
    const ranges = this.ranges(rule);
    const targets = ranges?.actions ?? this.actions(rule);
    const nfs = this.nfsOf(rule, targets);
    const actions = nfs?.actions ?? targets;
    // What packets are sent to comes before what sends them there.
    for (const entry of [...(ranges?.entries ?? []), ...(nfs?.entries ?? [])]) this.entries.push(entry);
    this.meters.push(...(nfs?.meters ?? []));
    for (const { claim, key } of claims) {
      const { table, priority, match } = claim;
      this.owners.set(key, rule.id);
      this.entries.push({ table, priority, rule_id: rule.id, match, actions });
    }
    if (ranges) this.splits.set(ranges.split, rule.id);
    this.reservedEntries += ranges?.reserved ?? 0;
    for (const exception of ranges?.exceptions ?? []) this.exceptions.push(exception);
    const { entries = [], exceptions = [] } = ranges ?? {};
    return claims.length + entries.length + exceptions.length + (nfs?.entries.length ?? 0);
  }

  /** The NFs that packets of the rule pass here before they go to its targets; null: none. */
  private nfsOf(rule: FabricRule, onward: EntryAction[]): (NfEntries & { readonly actions: EntryAction[] }) | null {
    if (rule.kind !== 'classify' || !rule.nfs) return null;
    const { id, nfs } = rule;
    const content = JSON.stringify([id, nfs]);
    const number = this.numberFor(content, this.nfs);
    const meterNumber = (meter: string) => {
      const free = this.numberFor(meter, this.meterNumbers);
      this.meterNumbers.set(free, meter);
      return free;
    };
    const about = { place: this.place.id, abilities: this.abilities, most: MOST_ENTRIES_A_RULE, meterNumber };
    const found = nfEntries({ id, nfs }, number, onward, about);
    this.nfs.set(number, content);
    return { ...found, actions: [{ do: 'enter-nfs', nfs: number }, nextTable('nf-1')] };
  }

  /**
   * The ranges of several targets, where the switch can match on a hash of the key (E2 3.4.4), or of one whose flows it keeps;
   * null: it cannot, or there is one target.
   */
  private ranges(rule: FabricRule): {
    readonly split: number;
    /** Entries that the switch may add itself. */
    readonly reserved: number;
    readonly actions: EntryAction[];
    readonly entries: SwitchEntry[];
    readonly exceptions: readonly SwitchException[];
  } | null {
    if (rule.kind !== 'classify') return null;
    const { id, key, targets: all, keep_flows, exceptions } = rule;
    const hashed = hashedFields(key);
    const ability = this.abilities.match.flow_id;
    const targets = inOneSpace(all.filter((target) => this.portOf(target)));
    if (targets.length < 2 && !keep_flows) return null;
    if (!ability || !splitsByRanges(this.abilities, key, keep_flows !== undefined)) {
      if (keep_flows) throw new Inability(`keep flows by the hash of ${hashed.join(', ')} at their instances`);
      if (exceptions) throw new Inability(`take over a split by ranges of the hash of ${hashed.join(', ')}`);
      return null;
    }
    if (exceptions && this.abilities.takes_splits !== true)
      throw new Inability('take over a split: it hashes flows otherwise than engines do');
    const split = this.numberFor(id, this.splits);
    const entries = targets.flatMap((target): SwitchEntry[] => {
      const { lo, hi } = target.range;
      const matches = cover(interval(lo, hi - 1), 'flow_id', ability);
      if (matches === null) throw new Inability('match ranges of the flow hash');
      return matches.map((flow_id) => ({
        table: 'split',
        priority: PRIORITY.range,
        rule_id: id,
        match: { fields: { ...IPV4, ...exactly('split', split), flow_id } },
        actions: [...(keep_flows ? [{ do: 'keep-flow', split, ...keep_flows } as const] : []), ...this.towards(target)],
      }));
    });
    const hash: EntryAction = { do: 'hash-flow', key: [...hashed], split };
    if (!keep_flows && !exceptions?.flows.length)
      return { split, reserved: 0, actions: [hash, nextTable('split')], entries, exceptions: [] };
    if (!this.leadsToSplit) entries.push(UNKEPT);
    this.leadsToSplit = true;
    return {
      ...{ split, reserved: keep_flows?.capacity ?? 0, actions: [hash, nextTable('keep')], entries },
      exceptions: exceptions ? this.exceptionsOf(rule.id, split, exceptions) : [],
    };
  }

  /** Of those whose target cannot be reached from here, none. */
  private exceptionsOf(
    rule_id: string,
    split: number,
    { flows, idle_timeout_s }: NonNullable<Extract<FabricRule, { kind: 'classify' }>['exceptions']>,
  ): SwitchException[] {
    return flows.flatMap(({ flow, hop, server }): SwitchException[] => {
      const port = this.place.towards.get(server);
      if (port === undefined) return [];
      return [{ rule_id, split, ...keptFlowKey(flow), mac: tagMac(hop), port, idle_timeout_s }];
    });
  }

  /** The same in every generation, so that what other rules do leaves its flows alone, but for the rare collision. */
  private numberFor(content: string, taken: ReadonlyMap<number, string>): number {
    let number = fnv1a(content) % 0xffff;
    while (taken.has(number + 1) && taken.get(number + 1) !== content) number = (number + 1) % 0xffff;
    return number + 1;
  }

  private towards(target: Target): EntryAction[] {
    return [setMac('eth.dst', tagMac(target.hop, target.metadata)), output(this.portOf(target)!)];
  }

  private addForwarding(): void {
    const { attached, distant, dataPlanes, ports } = this.place;
    const addresses = [...attached, ...distant].flatMap(({ endpoint }) => endpoint.addresses);
    const families = this.abilities.ipv6 && addresses.some(isIpv6) ? [IPV4, IPV6] : [IPV4];
    const gateway = exactly('eth.dst', macNumber(FABRIC_GATEWAY_MAC));
    for (const { port, endpoint } of attached) {
      const own = { ...exactly('eth.src', macNumber(endpoint.mac)), ...gateway };
      const admitted = [{ do: 'mark-from-host' } as const, nextTable('steer')];
      for (const family of families)
        this.forward('admit', PRIORITY.fromHost, { port, fields: { ...family, ...own } }, admitted);
      this.route(endpoint, [setMac('eth.dst', endpoint.mac), output(port)]);
    }
    for (const { port, endpoint } of distant)
      this.route(endpoint, [setMac('eth.dst', FABRIC_GATEWAY_MAC), output(port)]);
    const trunks = ports.filter(({ role }) => role === 'switch').map(({ name }) => name);
    for (const port of [...dataPlanes.values(), ...trunks])
      for (const family of families)
        this.forward('admit', PRIORITY.gateway, { port, fields: { ...family, ...gateway } }, [nextTable('steer')]);
    this.forward('steer', PRIORITY.unsteered, { fields: {} }, [nextTable('route')]);
  }

  private route({ addresses }: Endpoint, actions: EntryAction[]): void {
    for (const address of addresses) {
      if (!isIpv6(address))
        this.forward(
          'route',
          PRIORITY.host,
          { fields: { ...IPV4, ...exactly('ip.dst', addressToNumber(address)) } },
          actions,
        );
      else if (this.abilities.ipv6) this.forward('route', PRIORITY.host, { ipv6_dst: address, fields: IPV6 }, actions);
    }
  }

  private forward(
    table: SwitchEntry['table'],
    priority: number,
    match: SwitchEntry['match'],
    actions: EntryAction[],
  ): void {
    this.entries.push({ table, priority, rule_id: null, match, actions });
  }

  /** Made once for each rule, switch and abilities: it is lowered for every phase of a change, and most rules stay. */
  private knownClaims(rule: FabricRule): readonly KeyedClaim[] {
    const known = KNOWN.get(this.place) ?? new WeakMap<FabricRule, Known>();
    KNOWN.set(this.place, known);
    const before = known.get(rule);
    if (before?.abilities === this.content) return before.claims;
    const claims = this.claims(rule).map((claim) => ({ claim, key: JSON.stringify(claim) }));
    known.set(rule, { abilities: this.content, claims });
    return claims;
  }

  private claims(rule: FabricRule): Claim[] {
    switch (rule.kind) {
      case 'hop':
        return this.hopClaims(rule);
      case 'mirror':
        return this.mirrorClaims(rule);
      case 'guard':
        return this.matchClaims(rule, 'route', PRIORITY.guard, [matchesOf, fragmentsOf]);
      case 'fragment':
        return this.matchClaims(rule, 'steer', rule.priority, [fragmentsOf]);
      default:
        return rule.targets.some((target) => this.portOf(target))
          ? this.matchClaims(rule, 'steer', rule.priority, [matchesOf])
          : [];
    }
  }

  private actions(rule: FabricRule): EntryAction[] {
    switch (rule.kind) {
      case 'hop':
        return [output(this.portOf(rule.targets[0]!)!)];
      case 'mirror':
        return this.mirror(rule);
      case 'guard':
      case 'fragment':
        return [{ do: 'drop' }];
      default:
        return this.steer(rule);
    }
  }

  /** At the ports at which the tag can arrive: of attached servers and slots that send it, and towards other switches. */
  private hopClaims({ hop, targets, from_servers }: FabricRule): Claim[] {
    const { senders, transit } = this.place;
    const [target] = targets;
    if (hop === null || !target || this.portOf(target) === undefined) return [];
    const ports = [...from_servers.flatMap((id) => senders.get(id) ?? []), ...(transit.get(target.server) ?? [])];
    return this.tagClaims(hop, ports);
  }

  /** At the ports of attached servers that send the tag: copies go on with tags of their own. */
  private mirrorClaims({ hop, from_servers }: FabricRule): Claim[] {
    const { dataPlanes } = this.place;
    return hop === null
      ? []
      : this.tagClaims(
          hop,
          from_servers.flatMap((id) => dataPlanes.get(id) ?? []),
        );
  }

  private tagClaims(hop: number, ports: readonly string[]): Claim[] {
    if (ports.length === 0) return [];
    const tag = this.abilities.match['eth.dst']?.kind;
    if (tag !== 'mask' && tag !== 'prefix') throw new Inability('match the hop in eth.dst apart from the metadata');
    const fields = { ...IPV4, 'eth.dst': tagMatch(hop) };
    return ports.map((port) => ({ table: 'admit', priority: PRIORITY.hop, match: { port, fields } }));
  }

  private mirror({ targets }: FabricRule): EntryAction[] {
    if (!this.abilities.groups.all)
      throw new Inability('copy packets to several servers: it has no groups of all buckets');
    const buckets = targets.map((target) => {
      const port = this.portOf(target);
      if (port === undefined) throw new Inability(`reach ${target.server}`);
      return { actions: [{ do: 'set-hop', hop: target.hop } as const, output(port)] };
    });
    return [{ do: 'group', group: this.groups.add({ kind: 'all', buckets }) }];
  }

  private matchClaims(
    rule: FabricRule,
    table: Claim['table'],
    priority: number,
    packets: readonly (typeof matchesOf)[],
  ): Claim[] {
    const origins = this.origins(rule);
    if (origins.length === 0) return [];
    const matches = packets.flatMap((matching) => matching(rule.match, this.abilities, MOST_ENTRIES_A_RULE));
    return origins.flatMap(({ port, fields }) =>
      matches.map(
        (match): Claim => ({
          table,
          priority,
          match: { ...(port === undefined ? {} : { port }), fields: { ...match, ...fields } },
        }),
      ),
    );
  }

  /** Port towards the target; undefined: it cannot be reached from here. */
  private portOf({ server }: Target): string | undefined {
    return this.place.towards.get(server);
  }

  /** Ingress ports of the rule. */
  private origins({ kind, from_hosts }: FabricRule): { port?: string; fields?: Fields }[] {
    if (from_hosts.length > 0) {
      const named = new Set(from_hosts);
      return this.place.attached.filter(({ endpoint }) => named.has(endpoint.node)).map(({ port }) => ({ port }));
    }
    return kind === 'return' ? [{}] : [{ fields: exactly('from_host', 1) }];
  }

  /** Adds a group last, if there are several targets. */
  private steer({ kind, key, targets: all }: FabricRule): EntryAction[] {
    const targets = all.filter((target) => this.portOf(target));
    const before: EntryAction[] = kind === 'return' ? [{ do: 'decrement-ttl' }] : [];
    if (kind === 'return' && !this.abilities.rewrite.includes('ttl')) throw new Inability('decrement the TTL');
    if (targets.length === 1) return [...before, ...this.towards(targets[0]!)];
    const hashed = hashedFields(key);
    const { select } = this.abilities.groups;
    if (select.length === 0) throw new Inability('share a class over several instances: it has no select groups');
    const missing = hashed.filter((field) => !select.includes(field));
    if (missing.length > 0) throw new Inability(`hash ${missing.join(', ')} to choose among instances`);
    const buckets = targets.map((target) => ({
      weight: target.range.hi - target.range.lo,
      actions: this.towards(target),
    }));
    return [...before, { do: 'group', group: this.groups.add({ kind: 'select', key: [...hashed], buckets }) }];
  }
}

/** The targets with the whole flow space among them: that of one which cannot be reached goes to its neighbour. */
function inOneSpace(targets: readonly Target[]): Target[] {
  const ordered = targets.toSorted((a, b) => a.range.lo - b.range.lo);
  return ordered.map((target, i) => ({
    ...target,
    range: { lo: i === 0 ? 0 : target.range.lo, hi: ordered[i + 1]?.range.lo ?? FLOW_SPACE },
  }));
}
