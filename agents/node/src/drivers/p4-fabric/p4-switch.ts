import { existsSync, readFileSync } from 'node:fs';
import type { ObservedPort, SwitchSpec } from '@orrery/contract';
import type { MulticastGroup, Notice, TableEntry, Update } from '../p4runtime/messages.js';
import type { P4Port } from '../p4runtime/p4-port.js';
import type { P4RuntimeClient } from '../p4runtime/p4runtime-client.js';
import { contentOf, identityOf, tableEntry } from '../p4runtime/table-entries.js';
import type { EntryCount, LatencyStep, PacketTracer, SwitchDriver, SwitchReading } from '../switch-driver.js';
import { latenciesOf, latencyQueries, stampEntries, stampedClasses } from './class-latency.js';
import { driftOf, type Held, heldBy } from './drift.js';
import { type FabricMeter, fabricContent, type PortNumbers } from './fabric-entries.js';
import type { FabricProgram } from './fabric-program.js';
import { digestId, digestsOn, KeptFlows, keepingSplits, keptFlows } from './kept-flows.js';
import { type HeldMeters, heldMeters, isAmong, meterQueries, meterUpdates } from './meters.js';

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
  /** What changes or reads the flows that the switch keeps happens one after the other. */
  private turn: Promise<unknown> = Promise.resolve();
  private keeps = false;

  constructor(
    private readonly client: P4RuntimeClient,
    private readonly program: FabricProgram,
    private readonly portsByName: ReadonlyMap<string, P4Port>,
    private readonly software: string,
    readonly tracer?: PacketTracer,
  ) {
    client.onNotice = (notice) => {
      void this.inTurn(() => this.take(notice));
    };
  }

  async describe(): Promise<string> {
    return `${this.software}, P4Runtime ${await this.client.capabilities()}`;
  }

  async probe(deadlineMs: number): Promise<void> {
    await this.client.capabilities(deadlineMs);
  }

  async ports(names: readonly string[]): Promise<ObservedPort[]> {
    await this.client.capabilities();
    return names.map((name) => {
      const port = this.portsByName.get(name);
      const { number = null } = port ?? {};
      return { name, number, up: port !== undefined && isUp(port.interface) };
    });
  }

  apply(spec: SwitchSpec, ports: readonly ObservedPort[]): Promise<void> {
    return this.inTurn(() => this.write(spec, ports));
  }

  read(): Promise<SwitchReading> {
    return this.inTurn(() => this.reading());
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
    const classes = stampedClasses(spec);
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
    const before = await this.held();
    const splits = keepingSplits(spec, numbers);
    this.keeps = splits.size > 0;
    await this.client.write([
      ...(this.keeps ? await this.digestsMissing() : []),
      ...this.flows.follow(splits, before.kept, program.info),
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
    // Without a stream nothing is told of new flows. Where another controller has it, they follow the ranges.
    if (this.keeps) await this.client.write([]).catch(() => undefined);
    const { info } = await this.program.load();
    const held = await this.held();
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
    return {
      entries: held.entries.size - ofGroups,
      kept: keptFlows(held.kept.values(), info),
      latencies: await this.latencies(),
      counts,
      metered,
      ...drift,
      drift: [...drift.drift, ...otherMeters],
    };
  }

  /** After a restart, or with the program of another controller, it holds nothing of ours. */
  private withoutProgram(): SwitchReading {
    const { written } = this;
    const rules = written?.spec.entries.flatMap(({ rule_id }) => (rule_id === null ? [] : [rule_id])) ?? [];
    const drift = written ? ['the program was replaced: every entry is gone'] : [];
    return { entries: 0, counts: new Map(), drift, drifted_rules: [...new Set(rules)] };
  }

  /** What makes the switch tell of new flows; nothing where it does. */
  private async digestsMissing(): Promise<Update[]> {
    const { info } = await this.program.load();
    // simple_switch_grpc refuses to read what is not set.
    const found = await this.client.read([{ digestEntry: { digestId: digestId(info) } }]).catch(() => []);
    return found.some(({ digestEntry }) => digestEntry?.config) ? [] : [digestsOn(info)];
  }

  /** A flow without an entry, such as one that could not be written, follows the ranges, and is told again. */
  private async take({ digest, idleTimeoutNotification }: Notice): Promise<void> {
    try {
      const { info } = await this.program.load();
      if (digest?.digestId === digestId(info)) {
        const { updates, whole } = this.flows.enter(digest, info);
        if (updates.length > 0) await this.client.write(updates);
        if (whole) this.client.acknowledge(digest);
      }
      const ended = this.flows.end(idleTimeoutNotification?.tableEntry ?? [], info);
      if (ended.length > 0) await this.client.write(ended);
    } catch {
      // The next reading says what the switch holds, and what is wrong with it.
    }
  }

  private async latencies(): Promise<ReadonlyMap<string, readonly LatencyStep[]>> {
    const classes = this.written?.classes ?? new Map();
    if (classes.size === 0) return new Map();
    const { info } = await this.program.load();
    return latenciesOf(await this.client.read(latencyQueries(classes, info)), classes);
  }

  private async heldMeters(meters: readonly FabricMeter[]): Promise<HeldMeters> {
    if (meters.length === 0) return { rates: new Map(), dropped: new Map() };
    const { info } = await this.program.load();
    return heldMeters(await this.client.read(meterQueries(meters, info)));
  }

  private async held(): Promise<Held> {
    const [{ info }, entities] = await Promise.all([
      this.program.load(),
      this.client.read([
        { tableEntry: { tableId: 0, counterData: {} } },
        { packetReplicationEngineEntry: { multicastGroupEntry: { multicastGroupId: 0 } } },
      ]),
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
