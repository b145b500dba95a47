import type { ObservedPort, SwitchEntry, SwitchGroup, SwitchSpec } from '@orrery/contract';
import type { EntryCount, SwitchDriver, SwitchReading } from '../switch-driver.js';
import {
  cookieOf,
  deletionOfKept,
  flowText,
  groupText,
  keptFlow,
  meterText,
  notKeptCookie,
  notKeptText,
  type PortNumbers,
  portsIn,
} from './flow-text.js';
import { NotKept } from './not-kept.js';
import type { HeldFlow, HeldMeter, Ofctl } from './ofctl.js';
import { echo } from './openflow-echo.js';

type Bucket = SwitchGroup['buckets'][number];

/** What a bridge held right after it was written. */
interface Written {
  /** Index in the specification by cookie. */
  readonly indices: ReadonlyMap<string, number>;
  readonly entries: readonly SwitchEntry[];
  /** Splits by the cookie of the flow that counts what they do not keep. */
  readonly counters: ReadonlyMap<string, number>;
  /** By cookie. */
  readonly flows: ReadonlyMap<string, string>;
  readonly groups: ReadonlyMap<number, string>;
  readonly meters: ReadonlyMap<number, string>;
}

export class OvsSwitch implements SwitchDriver {
  private written: Written | null = null;
  /** The text of each group as written, to detect other content under the same number. */
  private readonly groupTexts = new Map<number, string>();
  private readonly meterTexts = new Map<number, string>();
  private readonly notKept = new NotKept();

  constructor(
    private readonly ofctl: Ofctl,
    private readonly interfaces: ReadonlyMap<string, string>,
  ) {}

  describe(): Promise<string> {
    return this.ofctl.version();
  }

  async probe(deadlineMs: number): Promise<void> {
    const { bridge, socket } = this.ofctl;
    await echo(socket, deadlineMs).catch((error: Error) => {
      throw new Error(`Open vSwitch, bridge ${bridge}: ${error.message}`);
    });
  }

  async ports(names: readonly string[]): Promise<ObservedPort[]> {
    const found = await this.ofctl.ports();
    return names.map((name) => {
      const port = found.get(this.interfaces.get(name) ?? name);
      return { name, number: port?.number ?? null, up: port?.up ?? false };
    });
  }

  async apply(spec: SwitchSpec, ports: readonly ObservedPort[]): Promise<void> {
    const numbers: PortNumbers = new Map(
      ports.flatMap(({ name, number }) => (number === null ? [] : [[name, number]])),
    );
    const groups = spec.groups.flatMap((group) => {
      const present = <T extends Bucket>(buckets: readonly T[]) =>
        buckets.filter(({ actions }) => portsIn(actions).every((port) => numbers.has(port)));
      const left: SwitchGroup =
        group.kind === 'all'
          ? { ...group, buckets: present(group.buckets) }
          : { ...group, buckets: present(group.buckets) };
      return left.buckets.length > 0 ? [left] : [];
    });
    const groupIds = new Set(groups.map(({ id }) => id));
    const entries = spec.entries.filter(({ match, actions }) => {
      const named = [...portsIn(actions), ...(match.port === undefined ? [] : [match.port])];
      return (
        named.every((port) => numbers.has(port)) &&
        actions.every((action) => action.do !== 'group' || groupIds.has(action.group))
      );
    });
    const held = await this.ofctl.groups();
    const texts = new Map(groups.map((group) => [group.id, groupText(group, numbers)]));
    // New groups are added before the flows that use them, old ones are removed after.
    await this.ofctl.writeGroups([...texts].flatMap(([id, text]) => (this.isHeld(id, text, held) ? [] : [text])));
    const meters = await this.writeMeters(spec);
    if (spec.entries.some(({ nf }) => nf)) await this.ofctl.matchPortsOfFirstFragments();
    const counters = countersOf(entries);
    await this.writeFlows(spec.entries, entries, [...counters.values()], numbers);
    for (const id of meters) await this.ofctl.deleteMeter(id);
    await this.ofctl.deleteGroups([...held.keys()].filter((id) => !texts.has(id)));
    const [{ flows }, groupsNow] = [told(await this.ofctl.flows()), await this.ofctl.groups()];
    this.groupTexts.clear();
    for (const [id, text] of texts) this.groupTexts.set(id, text);
    this.written = {
      indices: new Map(spec.entries.map((entry, index) => [cookieOf(entry), index])),
      entries: spec.entries,
      counters,
      flows: new Map(flows.map(({ cookie, content }) => [cookie, content])),
      groups: groupsNow,
      meters: contents(spec.meters ? await this.ofctl.meters() : new Map()),
    };
    this.notKept.take(countedIn(flows, counters));
    const entriesHeld = flows.length - counters.size;
    if (entriesHeld !== entries.length)
      throw new Error(`bridge ${this.ofctl.bridge} holds ${entriesHeld} of ${entries.length} entries`);
  }

  async read(): Promise<SwitchReading> {
    const { flows, kept } = told(await this.ofctl.flows());
    const { written } = this;
    if (!written) return { entries: flows.length, kept, counts: new Map(), drift: [], drifted_rules: [] };
    const groups = await this.ofctl.groups();
    const meters = written.meters.size > 0 ? await this.ofctl.meters() : new Map<number, HeldMeter>();
    const counts = new Map<number, EntryCount>();
    for (const { cookie, packets, bytes } of flows) {
      const index = written.indices.get(cookie);
      if (index !== undefined && packets > 0) counts.set(index, { packets, bytes });
    }
    const counted = countedIn(flows, written.counters);
    this.notKept.take(counted);
    return {
      entries: flows.length - counted.size,
      kept,
      counts,
      ...this.notKept.figures,
      metered: droppedBy(meters),
      ...driftOf(written, flows, groups, contents(meters)),
    };
  }

  /** Those of the specification, before the flows that use them; returns the others, for after that. */
  private async writeMeters({ meters = [] }: SwitchSpec): Promise<number[]> {
    if (meters.length === 0 && this.written?.meters.size === 0) return [];
    const held = await this.ofctl.meters();
    const texts = new Map(meters.map((meter) => [meter.id, meterText(meter)]));
    for (const [id, text] of texts) {
      const now = held.get(id)?.content;
      const isHeld = now !== undefined && this.meterTexts.get(id) === text && this.written?.meters.get(id) === now;
      // Written again, its tokens are full.
      if (!isHeld) await this.ofctl.writeMeter(text, now !== undefined);
    }
    this.meterTexts.clear();
    for (const [id, text] of texts) this.meterTexts.set(id, text);
    return [...held.keys()].filter((id) => !texts.has(id));
  }

  /**
   * Flows that the switch keeps stay, unless their split or their target is gone. Only the first time are they written
   * again: of one that the switch adds at that very moment, further packets follow the ranges.
   */
  private async writeFlows(
    specified: readonly SwitchEntry[],
    entries: readonly SwitchEntry[],
    splits: readonly number[],
    numbers: PortNumbers,
  ): Promise<void> {
    const texts = new Map([
      ...entries.map((entry) => [cookieOf(entry), flowText(entry, numbers)] as const),
      ...splits.map((split) => [notKeptCookie(split), notKeptText(split)] as const),
    ]);
    const held = await this.ofctl.flows();
    const { kept, flows } = told(held);
    const targets = keptTargets(specified, numbers);
    const stays = ({ split, mac, port }: Kept) => targets.has(`${split} ${mac} ${port}`);
    const { written } = this;
    if (!written || (kept.length === 0 && targets.size === 0)) {
      const keep = kept.filter(stays).map(({ cookie, content }) => `cookie=${cookie}, ${content}`);
      return this.ofctl.replaceFlows([...texts.values(), ...keep]);
    }
    const intact = new Set(
      flows.flatMap(({ cookie, content }) => (written.flows.get(cookie) === content ? [cookie] : [])),
    );
    const strange = new Set(flows.flatMap(({ cookie }) => (texts.has(cookie) && intact.has(cookie) ? [] : [cookie])));
    await this.ofctl.changeFlows([
      ...kept.filter((flow) => !stays(flow)).map(({ match }) => deletionOfKept(match)),
      ...[...strange].map((cookie) => `delete cookie=${cookie}/-1`),
      ...[...texts].flatMap(([cookie, text]) => (intact.has(cookie) ? [] : [`add ${text}`])),
    ]);
  }

  /** A group written by another agent process counts as present if its number matches: numbers identify content. */
  private isHeld(id: number, text: string, held: ReadonlyMap<number, string>): boolean {
    const now = held.get(id);
    if (now === undefined) return false;
    if (!this.groupTexts.has(id)) return sameGroup(text, now);
    return this.groupTexts.get(id) === text && this.written?.groups.get(id) === now;
  }
}

type Kept = HeldFlow & NonNullable<ReturnType<typeof keptFlow>>;

/** Flows that it was told to hold, and those that it keeps itself. */
function told(held: readonly HeldFlow[]): { flows: HeldFlow[]; kept: Kept[] } {
  const kept: Kept[] = [];
  const flows = held.filter((flow) => {
    const found = keptFlow(flow);
    if (found) kept.push({ ...flow, ...found });
    return found === null;
  });
  return { flows, kept };
}

/** Splits that keep flows, by the cookie of the flow that counts those that they do not. */
function countersOf(entries: readonly SwitchEntry[]): Map<string, number> {
  const keeps = entries.flatMap(({ actions }) => actions.flatMap((it) => (it.do === 'keep-flow' ? [it.split] : [])));
  return new Map(keeps.map((split) => [notKeptCookie(split), split]));
}

/** Packets by split. */
function countedIn(flows: readonly HeldFlow[], counters: ReadonlyMap<string, number>): Map<number, number> {
  return new Map(
    flows.flatMap(({ cookie, packets }) => {
      const split = counters.get(cookie);
      return split === undefined ? [] : [[split, packets] as const];
    }),
  );
}

/** Where flows are kept now: split, destination MAC address and port number. */
function keptTargets(entries: readonly SwitchEntry[], numbers: PortNumbers): Set<string> {
  return new Set(
    entries.flatMap(({ actions }) => {
      const keep = actions.find((action) => action.do === 'keep-flow');
      const mac = actions.find((action) => action.do === 'set-mac')?.mac;
      const [port] = portsIn(actions);
      return keep && port !== undefined ? [`${keep.split} ${mac} ${numbers.get(port)}`] : [];
    }),
  );
}

const droppedBy = (meters: ReadonlyMap<number, HeldMeter>) =>
  new Map([...meters].map(([id, { packets, bytes }]) => [id, { packets, bytes }]));

const contents = (meters: ReadonlyMap<number, HeldMeter>) =>
  new Map([...meters].map(([id, { content }]) => [id, content]));

function driftOf(
  written: Written,
  flows: readonly HeldFlow[],
  groups: ReadonlyMap<number, string>,
  meters: ReadonlyMap<number, string>,
): Pick<SwitchReading, 'drift' | 'drifted_rules'> {
  const now = new Map(flows.map(({ cookie, content }) => [cookie, content]));
  const ruleOf = (cookie: string) => {
    const index = written.indices.get(cookie);
    return index === undefined ? null : written.entries[index]!.rule_id;
  };
  const changed = [...written.flows].filter(([cookie, content]) => now.has(cookie) && now.get(cookie) !== content);
  const missing = [...written.flows.keys()].filter((cookie) => !now.has(cookie));
  const foreign = flows.length - [...now.keys()].filter((cookie) => written.flows.has(cookie)).length;
  const gone = [...written.groups].filter(([id, content]) => groups.get(id) !== content);
  const changedMeters = [...written.meters].filter(([id, content]) => meters.get(id) !== content);
  const strange = [...groups.keys()].filter((id) => !written.groups.has(id));
  const named = (cookies: string[]) => [...new Set(cookies.map((it) => ruleOf(it) ?? 'forwarding'))];
  const some = (cookies: string[]) => named(cookies).slice(0, 5).join(', ');
  const altered = changed.map(([cookie]) => cookie);
  const groupsOf = new Set(gone.map(([id]) => id));
  const grouped = written.entries.filter(({ actions }) =>
    actions.some((action) => action.do === 'group' && groupsOf.has(action.group)),
  );
  return {
    drift: [
      ...(missing.length > 0 ? [`${missing.length} entries were deleted (${some(missing)})`] : []),
      ...(altered.length > 0 ? [`${altered.length} entries were changed (${some(altered)})`] : []),
      ...(foreign > 0 ? [`${foreign} entries were added`] : []),
      ...(gone.length > 0 ? [`${gone.length} groups were changed or deleted`] : []),
      ...(changedMeters.length > 0 ? [`${changedMeters.length} meters were changed or deleted`] : []),
      ...(strange.length > 0 ? [`${strange.length} groups were added`] : []),
    ],
    drifted_rules: [
      ...new Set([...[...missing, ...altered].map(ruleOf), ...grouped.map(({ rule_id }) => rule_id)]),
    ].filter((id) => id !== null),
  };
}

/** Whether a group, as the switch prints it, matches the requested text. */
function sameGroup(text: string, held: string): boolean {
  const parts = (it: string) =>
    it
      .replace(/^group_id=\d+,/, '')
      .split(/,(?=bucket=)/)
      .join(';');
  return parts(text) === parts(held);
}
