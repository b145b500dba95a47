import { existsSync, readFileSync } from 'node:fs';
import type { KeptFlowKey, ObservedPort, SwitchSpec } from '@orrery/contract';
import { monotonicMs } from '../../platform/monotonic.js';
import type { Entity, MulticastGroup, Notice, TableEntry, Update } from '../p4runtime/messages.js';
import type { P4Port } from '../p4runtime/p4-port.js';
import { type P4RuntimeClient, P4RuntimeError } from '../p4runtime/p4runtime-client.js';
import { contentOf, identityOf, tableEntry } from '../p4runtime/table-entries.js';
import type { EntryCount, LatencyCounts, PacketTracer, SwitchDriver, SwitchReading } from '../switch-driver.js';
import { latenciesOf, latencyQueries, stampEntries, stampedClasses } from './class-latency.js';
import { driftOf, type Held, heldBy } from './drift.js';
import { type FabricMeter, fabricContent, type PortNumbers } from './fabric-entries.js';
import type { FabricProgram } from './fabric-program.js';
import {
  digestId,
  digestsMissing,
  ending,
  exceptionEntries,
  idleFlows,
  KeptFlows,
  keepingSplits,
  keptFlows,
  keptKeys,
  keptQuery,
} from './kept-flows.js';
import { type HeldMeters, heldMeters, isAmong, meterQueries, meterUpdates } from './meters.js';
import { RecentClasses } from './recent-classes.js';
import type { SwitchControl } from './switch-control.js';
import { WaitingFlows } from './told-flows.js';

/** What the switch was told. */
interface Written {
  readonly spec: SwitchSpec;
  readonly held: Held;
  readonly meters: readonly FabricMeter[];
  readonly rates: HeldMeters['rates'];
  /** Numbers of the classes whose packets it stamps, by rule. */
  readonly classes: ReadonlyMap<string, number>;
  /** Index in the specification by identity. */
  readonly indices: ReadonlyMap<string, number>;
}

/** A switch that runs `fabric.p4`, behind P4Runtime. */
export class P4Switch implements SwitchDriver {
  private written: Written | null = null;
  /** Those that have been in every specification since they were set; null: not known, as after a restart of the agent. */
  private lasting: readonly FabricMeter[] | null = null;
  private readonly flows = new KeptFlows();
  private readonly recent = new RecentClasses();
  private readonly waiting = new WaitingFlows();
  private isEntering = false;
  /** Whether flows may have become idle: the switch has told of some, or may have told nobody. */
  private mayBeIdle = true;
  /** Why new flows got no entries since the last reading; null: they did. */
  private unwritten: string | null = null;
  private readonly unkept = { no_room: 0, unwritten: 0, untold: 0 };
  /** What changes or reads the flows that the switch keeps happens one after the other. */
  private turn: Promise<unknown> = Promise.resolve();
  /** Whether it has flows that end when they are idle. */
  private keeps = false;
  /** Number of the digest that tells of new flows; null: none are kept. */
  private digest: number | null = null;

  constructor(
    private readonly client: P4RuntimeClient,
    private readonly program: FabricProgram,
    private readonly portsByName: ReadonlyMap<string, P4Port>,
    private readonly software: string,
    private readonly control?: Pick<SwitchControl, 'arm' | 'read' | 'untold' | 'ports'>,
  ) {
    client.listen((notice) => this.take(notice));
  }

  get tracer(): PacketTracer | undefined {
    return this.control;
  }

  async describe(): Promise<string> {
    return `${this.software}, P4Runtime ${await this.client.capabilities()}`;
  }

  async probe(deadlineMs: number): Promise<void> {
    await this.client.capabilities(deadlineMs);
  }

  async ports(names: readonly string[]): Promise<ObservedPort[]> {
    await this.client.capabilities();
    // Where it can be asked: after a restart it may not have been given its ports yet.
    const opened = await this.control?.ports();
    return names.map((name) => {
      const port = this.portsByName.get(name);
      const own = port && opened?.get(port.number);
      const isOther = opened && (!own || (port.interface !== undefined && port.interface !== own.interface));
      if (!port || isOther) return { name, number: null, up: false };
      return { name, number: port.number, up: own?.up !== false && isUp(port.interface) };
    });
  }

  apply(spec: SwitchSpec, ports: readonly ObservedPort[]): Promise<void> {
    return this.inTurn(() => this.write(spec, ports));
  }

  read(): Promise<SwitchReading> {
    return this.inTurn(() => this.reading());
  }

  kept(split: number): Promise<readonly KeptFlowKey[]> {
    return this.inTurn(async () => {
      const { info, cookie } = await this.program.load();
      if ((await this.client.pipelineCookie()) !== cookie)
        throw new Error('it does not run the program of the fabric now');
      const { kept } = await this.held(true);
      const idle = idleFlows(kept);
      const live = [...kept].flatMap(([identity, entry]) => (idle.has(identity) ? [] : [entry]));
      return keptKeys(live, split, info);
    });
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }

  private async write(spec: SwitchSpec, ports: readonly ObservedPort[]): Promise<void> {
    const numbers: PortNumbers = new Map(
      ports.flatMap(({ name, number }) => (number === null ? [] : [[name, number]])),
    );
    const program = await this.program.load();
    const { entries: specified, groups, meters } = fabricContent(spec, numbers);
    const classes = stampedClasses(spec, this.written?.classes);
    const entries = [...specified, ...stampEntries(spec, specified, classes)];
    const wanted = new Map<string, TableEntry>();
    const indices = new Map<string, number>();
    for (const entry of entries) {
      const message = tableEntry(entry, program.info);
      const identity = identityOf(message);
      wanted.set(identity, message);
      if (entry.index !== null) indices.set(identity, entry.index);
    }
    const wantedGroups = new Map(groups.map(({ id, ports: of }) => [id, multicastGroup(id, of)]));
    if ((await this.client.pipelineCookie()) !== program.cookie) await this.client.setPipeline(program.config);
    this.lasting = this.lasting?.filter((meter) => isAmong(meters, meter)) ?? null;
    const before = await this.held(true);
    const splits = keepingSplits(spec, numbers);
    this.keeps = splits.size > 0;
    this.digest = [...splits.values()].some(({ tells }) => tells) ? digestId(program.info) : null;
    await this.client.write([
      ...(await this.digestsMissing()),
      ...this.flows.follow(splits, before.kept, program.info),
      ...exceptionEntries(spec, numbers, before, wanted, program.info),
      ...meterUpdates(meters, await this.heldMeters(meters), this.lasting, program.info),
      ...changes(before, { entries: wanted, groups: wantedGroups }),
    ]);
    const held = await this.held();
    const { rates } = await this.heldMeters(meters);
    this.written = { spec, held, indices, meters, rates, classes };
    this.lasting = meters;
    if (held.entries.size !== wanted.size)
      throw new Error(`${this.client.address} holds ${held.entries.size} of ${wanted.size} entries`);
  }

  private async reading(): Promise<SwitchReading> {
    const { cookie } = await this.program.load();
    if ((await this.client.pipelineCookie()) !== cookie) return this.withoutProgram();
    const trouble = await this.keepingTrouble();
    const { info } = await this.program.load();
    const held = trouble === null && this.mayBeIdle ? await this.endIdle() : await this.held();
    this.flows.know(held.kept, info);
    const { written } = this;
    const counts = new Map<number, EntryCount>();
    let ofGroups = 0;
    for (const [identity, { counterData }] of held.entries) {
      const index = written?.indices.get(identity);
      if (index === undefined && written?.held.entries.has(identity)) ofGroups += 1;
      const { packetCount = '0', byteCount = '0' } = counterData ?? {};
      if (index !== undefined && packetCount !== '0')
        counts.set(index, { packets: Number(packetCount), bytes: Number(byteCount) });
    }
    const drift = written
      ? driftOf(written.held, held, (identity) => written.spec.entries[written.indices.get(identity) ?? -1]?.rule_id)
      : { drift: [], drifted_rules: [] };
    const { rates, dropped } = await this.heldMeters(written?.meters ?? []);
    const metered = new Map(
      written?.meters.flatMap(({ id, index }) => (dropped.has(index) ? [[id, dropped.get(index)!]] : [])),
    );
    const changed = [...(written?.rates ?? [])].filter(([index, text]) => rates.get(index) !== text).length;
    const otherMeters = changed > 0 ? [`${changed} meters were changed`] : [];
    const digests =
      (await this.digestsMissing()).length > 0 ? ['telling of new flows was switched off or changed'] : [];
    return {
      entries: held.entries.size - ofGroups,
      kept: keptFlows(held.kept.values(), info),
      without_room: new Map(this.flows.withoutRoom),
      latencies: await this.latencies(counts),
      counts,
      metered,
      ...drift,
      drift: [...drift.drift, ...otherMeters, ...digests],
      unkept: await this.unkeptByReason(),
      ...(trouble !== null && { trouble }),
    };
  }

  /** After a restart, or with the program of another controller, it holds nothing of ours. */
  private withoutProgram(): SwitchReading {
    const { written } = this;
    const rules = written?.spec.entries.flatMap(({ rule_id }) => (rule_id === null ? [] : [rule_id])) ?? [];
    const drift = written ? ['the program was replaced: every entry is gone'] : [];
    return { entries: 0, counts: new Map(), drift, drifted_rules: [...new Set(rules)] };
  }

  private async digestsMissing(): Promise<Update[]> {
    if (this.digest === null) return [];
    const [{ info }, found] = await Promise.all([
      this.program.load(),
      this.client.read([{ digestEntry: { digestId: this.digest } }]).catch((error): Entity[] => {
        // simple_switch_grpc refuses to read what is not set.
        if (error instanceof P4RuntimeError && error.isAnswer) return [];
        throw error;
      }),
    ]);
    return digestsMissing(found, info);
  }

  /** Without a stream nothing is told of new flows: they follow the ranges, also where another controller has it. */
  private async keepingTrouble(): Promise<string | null> {
    const { unwritten } = this;
    this.unwritten = null;
    if (!this.keeps) return null;
    const lost = await this.client.write([]).then(
      () => null,
      (error: Error) => error.message,
    );
    // What became idle meanwhile is told to whoever has the switch.
    if (lost !== null) this.mayBeIdle = true;
    const why = lost ?? unwritten;
    return why === null || this.digest === null ? null : `flows that begin are not kept: ${why}`;
  }

  private async endIdle(): Promise<Held> {
    this.mayBeIdle = false;
    try {
      const held = await this.held(true);
      const idle = idleFlows(held.kept);
      if (idle.size > 0) await this.client.write(ending(idle.values()));
      return { ...held, kept: new Map([...held.kept].filter(([identity]) => !idle.has(identity))) };
    } catch (error) {
      this.mayBeIdle = true;
      throw error;
    }
  }

  private async unkeptByReason(): Promise<Record<string, number>> {
    if (this.digest !== null)
      this.unkept.untold = (await this.control?.untold().catch(() => null)) ?? this.unkept.untold;
    const { no_room, unwritten, untold } = this.unkept;
    const all = {
      'their split has no room': no_room,
      'more began than entries can be written': this.waiting.refused,
      'the switch refused their entries': unwritten,
      'more began than the switch can tell': untold,
    };
    return Object.fromEntries(Object.entries(all).filter(([, packets]) => packets > 0));
  }

  private take({ digest, idleTimeoutNotification }: Notice): void {
    if (idleTimeoutNotification) this.mayBeIdle = true;
    if (!digest || digest.digestId !== this.digest) return;
    this.waiting.add(digest);
    if (!this.isEntering) void this.enterAll();
  }

  /** One write at a time, so that a new specification and readings wait for one at most. */
  private async enterAll(): Promise<void> {
    this.isEntering = true;
    while (!this.waiting.isEmpty) await this.inTurn(() => this.enter());
    this.isEntering = false;
  }

  /** A flow without an entry follows the ranges, and is told again. */
  private async enter(): Promise<void> {
    const told = this.waiting.take();
    try {
      const { info } = await this.program.load();
      const { updates, taken, without_room } = this.flows.enter(told, info);
      this.unkept.no_room += without_room;
      if (updates.length > 0) await this.client.write(updates);
      for (const list of taken) this.client.acknowledge(list);
    } catch (error) {
      this.unwritten = (error as Error).message;
      this.unkept.unwritten += told.reduce((sum, { flows }) => sum + flows.length, 0);
    }
  }

  private async latencies(counts: ReadonlyMap<number, EntryCount>): Promise<ReadonlyMap<string, LatencyCounts>> {
    const { written, recent } = this;
    if (!written) return new Map();
    const { info } = await this.program.load();
    const due = recent.due(written.classes, written.spec, counts, monotonicMs());
    const read = due.size > 0 ? await this.client.read(latencyQueries(due, info)) : [];
    return recent.merge(written.classes, latenciesOf(read, due));
  }

  private async heldMeters(meters: readonly FabricMeter[]): Promise<HeldMeters> {
    if (meters.length === 0) return { rates: new Map(), dropped: new Map() };
    const { info } = await this.program.load();
    return heldMeters(await this.client.read(meterQueries(meters, info)));
  }

  /** `timed`: kept flows with the time since the last packet of each. */
  private async held(timed = false): Promise<Held> {
    const { info } = await this.program.load();
    const entities = await this.client.read([
      { tableEntry: { tableId: 0, counterData: {} } },
      { packetReplicationEngineEntry: { multicastGroupEntry: { multicastGroupId: 0 } } },
      ...(timed ? [keptQuery(info)] : []),
    ]);
    return heldBy(entities, info);
  }
}

/** In an order in which no packet meets an entry before what it refers to. */
function changes(held: Held, wanted: Pick<Held, 'entries' | 'groups'>): Update[] {
  const group = (type: Update['type'], multicastGroupEntry: MulticastGroup): Update => ({
    type,
    entity: { packetReplicationEngineEntry: { multicastGroupEntry } },
  });
  const entry = (type: Update['type'], one: TableEntry): Update => ({ type, entity: { tableEntry: one } });
  const put = <T>(before: T | undefined, differs: boolean) =>
    before === undefined ? 'INSERT' : differs ? 'MODIFY' : null;
  const added: Update[] = [];
  for (const [id, one] of wanted.groups) {
    const before = held.groups.get(id);
    const type = put(before, JSON.stringify(before) !== JSON.stringify(one));
    if (type) added.push(group(type, one));
  }
  for (const [identity, one] of wanted.entries) {
    const before = held.entries.get(identity);
    const type = put(before, before !== undefined && contentOf(before) !== contentOf(one));
    if (type) added.push(entry(type, one));
  }
  const isGone = (of: ReadonlyMap<unknown, unknown>) => (pair: readonly [unknown, unknown]) => !of.has(pair[0]);
  return [
    ...added,
    ...[...held.entries].filter(isGone(wanted.entries)).map(([, one]) => entry('DELETE', identified(one))),
    ...[...held.groups].filter(isGone(wanted.groups)).map(([, one]) => group('DELETE', one)),
  ];
}

const identified = ({ tableId, match, priority }: TableEntry): TableEntry => ({
  tableId,
  ...(match ? { match } : {}),
  ...(priority ? { priority } : {}),
});

function multicastGroup(id: number, ports: readonly number[]): MulticastGroup {
  return { multicastGroupId: id, replicas: ports.map((egressPort, i) => ({ egressPort, instance: i + 1 })) };
}

function isUp(name: string | undefined): boolean {
  if (name === undefined) return true;
  const state = `/sys/class/net/${name}/operstate`;
  return existsSync(state) && readFileSync(state, 'utf8').trim() === 'up';
}
