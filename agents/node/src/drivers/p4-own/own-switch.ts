import {
  MOST_P4_ENTRIES,
  namedP4,
  type ObservedPort,
  type P4Assignment,
  type P4Cells,
  type P4CellsRequest,
  type P4Entry,
  type P4ProgramFiles,
  type P4Reading,
} from '@orrery/contract';
import { numberText } from '../p4runtime/bytes.js';
import type { CounterData, Entity, MulticastGroup, TableEntry, Update } from '../p4runtime/messages.js';
import type { P4Port } from '../p4runtime/p4-port.js';
import { type P4RuntimeClient, P4RuntimeError } from '../p4runtime/p4runtime-client.js';
import { contentOf, identityOf } from '../p4runtime/table-entries.js';
import type { ProgramLoader, SwitchReading } from '../switch-driver.js';
import { entriesOf, groupsOf, type Held, heldOf, multicastGroup } from './held.js';
import { actionText, entryText, MARK, NoPort, ownDefault, ownEntry } from './own-entries.js';
import { loadOwnProgram, type OwnProgram, tableOf } from './own-program.js';
import type { RegisterReader } from './register-reader.js';

/** A program that the switch refused is not sent again so soon, unless the switch was restarted. */
const REFUSED_MS = 30_000;
const UNKNOWN = 2;
const UNIMPLEMENTED = 12;
const MOST_NAMED = 5;

interface Wanted {
  readonly program: OwnProgram;
  readonly entries: ReadonlyMap<string, TableEntry>;
  /** As the user wrote them, by identity. */
  readonly texts: ReadonlyMap<string, P4Entry>;
  readonly defaults: ReadonlyMap<number, TableEntry>;
  readonly groups: ReadonlyMap<number, MulticastGroup>;
  /** What had to be left out, in words. */
  readonly leftOut: readonly string[];
}

/** A P4 switch that runs a program of a user: it holds the user's entries, and leaves those of other controllers alone. */
export class OwnSwitch implements ProgramLoader {
  private readonly names: ReadonlyMap<number, string>;
  private files: P4ProgramFiles | null = null;
  private loaded: OwnProgram | null = null;
  private written: Wanted | null = null;
  private refused: { hash: string; beside: string | null; at_ms: number; error: Error } | null = null;

  constructor(
    private readonly client: P4RuntimeClient,
    ports: ReadonlyMap<string, P4Port>,
    private readonly registers?: RegisterReader,
  ) {
    this.names = new Map([...ports].map(([name, { number }]) => [number, name]));
  }

  take(files: P4ProgramFiles): void {
    if (files.hash === this.files?.hash) return;
    this.files = files;
    this.loaded = null;
  }

  /** The switch runs the program of the fabric from now on. */
  leave(): void {
    this.written = null;
  }

  /** Rejects also where it had to leave out something that names a port without a number: all else is then written. */
  async apply(assignment: P4Assignment, ports: readonly ObservedPort[]): Promise<void> {
    const program = await this.load(assignment);
    const wanted = wantedOf(assignment, program, numbersOf(ports));
    await this.set(program, assignment.name);
    const before = this.written?.program.hash === program.hash ? this.written : null;
    const held = await this.held(program, [...wanted.defaults.keys()]).catch((error) => {
      // simple_switch_grpc takes a program that it cannot load, and then has none of its tables.
      if (error instanceof P4RuntimeError && error.code === UNKNOWN) throw refusal(assignment.name, error);
      throw error;
    });
    await this.client.write(changes(held, wanted, before));
    this.written = wanted;
    const { leftOut } = wanted;
    const more = leftOut.length > MOST_NAMED ? `; and ${leftOut.length - MOST_NAMED} more` : '';
    if (leftOut.length > 0) throw new Error(`${leftOut.slice(0, MOST_NAMED).join('; ')}${more}`);
  }

  async read(): Promise<SwitchReading> {
    const { written } = this;
    const none = { counts: new Map(), drifted_rules: [] };
    if (!written) return { entries: 0, drift: [], ...none };
    const { program } = written;
    if ((await this.client.pipelineCookie()) !== program.cookie)
      return { entries: 0, drift: ['the program was replaced: every entry is gone'], ...none };
    const held = await this.held(program, [...written.defaults.keys()]);
    const installed = [...written.entries.keys()].filter((identity) => held.entries.has(identity));
    return { entries: installed.length, drift: driftOf(held, written), ...none };
  }

  async tables(): Promise<P4Reading> {
    const { program, entries: wanted, texts, groups } = this.current();
    const hash = (await this.client.pipelineCookie()) === program.cookie ? program.hash : null;
    if (hash === null) return { hash, entries: [], left_out: 0, default_actions: [], groups: [] };
    const held = await this.held(
      program,
      program.content.tables.filter(({ profile }) => !profile).map(({ id }) => id),
    );
    const entries = [...held.entries].flatMap(([identity, entry]) => {
      const text = texts.get(identity) ?? entryText(entry, program);
      if (!text) return [];
      const own = wanted.has(identity) || isMarked(entry);
      return [{ ...text, ...this.counts(entry, program), own }];
    });
    const default_actions = [...held.defaults.values()].flatMap((entry) => {
      const table = tableOf(program, entry.tableId);
      const done = actionText(entry.action?.action, program);
      return table && done ? [{ table: table.name, ...done, ...this.counts(entry, program) }] : [];
    });
    const most = 2 * MOST_P4_ENTRIES;
    return {
      hash,
      entries: entries.slice(0, most),
      left_out: Math.max(0, entries.length - most),
      default_actions,
      groups: [...held.groups.values()].slice(0, 1024).map(({ multicastGroupId: id, replicas = [] }) => ({
        id,
        ports: replicas.map(({ egressPort }) => this.names.get(egressPort) ?? String(egressPort)),
        own: groups.has(id),
      })),
    };
  }

  async cells({ kind, name, from, count }: P4CellsRequest): Promise<P4Cells> {
    const { program } = this.current();
    const array = namedP4(
      program.content.arrays.filter((one) => one.kind === kind),
      name,
    );
    if (!array) throw new Error(`/name: the program has no ${kind} ${name}`);
    const last = Math.min(from + count, array.size);
    if (kind === 'register' && this.registers) {
      const values = await this.registers.read(array.name, from, Math.max(0, last - from));
      return { cells: values.map((value, i) => ({ index: from + i, value: `0x${value.toString(16)}` })) };
    }
    const entities = Array.from({ length: Math.max(0, last - from) }, (_, i): Entity => {
      const index = { index: String(from + i) };
      return kind === 'counter'
        ? { counterEntry: { counterId: array.id, index } }
        : { registerEntry: { registerId: array.id, index } };
    });
    const read = await this.client.read(entities).catch((error) => {
      if (error instanceof P4RuntimeError && error.code === UNIMPLEMENTED)
        throw new Error(`/kind: this switch does not offer to read ${kind}s`);
      throw error;
    });
    return { cells: read.flatMap(cellOf) };
  }

  private current(): Wanted {
    if (!this.written) throw new Error('/: the switch does not run a program of a user yet');
    return this.written;
  }

  private async load({ name, hash }: P4Assignment): Promise<OwnProgram> {
    if (hash === null) throw new Error(`there is no P4 program ${name}`);
    if (this.files?.hash !== hash) throw new Error(`the P4 program ${name} has not arrived yet`);
    this.loaded ??= await loadOwnProgram(this.files);
    return this.loaded;
  }

  /** What the switch holds stays as it is if it refuses. */
  private async set(program: OwnProgram, name: string): Promise<void> {
    const beside = await this.client.pipelineCookie();
    if (beside === program.cookie) return;
    const { refused } = this;
    const isKnown = refused?.hash === program.hash && refused.beside === beside;
    if (isKnown && performance.now() - refused.at_ms < REFUSED_MS) throw refused.error;
    try {
      await this.client.setPipeline(program.config);
      this.refused = null;
    } catch (error) {
      const failure = refusal(name, error as Error);
      this.refused = { hash: program.hash, beside, at_ms: performance.now(), error: failure };
      throw failure;
    }
  }

  private async held(program: OwnProgram, defaultsOf: readonly number[]): Promise<Held> {
    const entities = await this.client.read([
      { tableEntry: { tableId: 0, counterData: {} } },
      ...defaultsOf.map((tableId) => ({ tableEntry: { tableId, isDefaultAction: true } })),
      { packetReplicationEngineEntry: { multicastGroupEntry: { multicastGroupId: 0 } } },
    ]);
    return heldOf(entities, program);
  }

  private counts({ tableId, counterData, isDefaultAction }: TableEntry, program: OwnProgram) {
    const isCounted = tableOf(program, tableId)?.counted === true && !(isDefaultAction && !counterData);
    return isCounted ? countsOf(counterData) : { packets: null, bytes: null };
  }
}

const refusal = (name: string, { message }: Error) => new Error(`the P4 program ${name} is refused: ${message}`);

const countsOf = ({ packetCount = '0', byteCount = '0' }: CounterData = {}) => ({
  packets: Number(packetCount),
  bytes: Number(byteCount),
});

function cellOf({ counterEntry, registerEntry }: Entity): P4Cells['cells'] {
  if (counterEntry) return [{ index: Number(counterEntry.index?.index ?? 0), ...countsOf(counterEntry.data) }];
  if (!registerEntry) return [];
  const value = registerEntry.data?.bitstring;
  const text = value ? `0x${numberText(value) || '0'}` : 'of several fields';
  return [{ index: Number(registerEntry.index?.index ?? 0), value: text }];
}

const isMarked = ({ metadata }: TableEntry) => metadata?.equals(MARK) ?? false;

const numbersOf = (ports: readonly ObservedPort[]) =>
  new Map(ports.flatMap(({ name, number }) => (number === null ? [] : [[name, number] as const])));

function wantedOf(
  { entries, default_actions, groups }: P4Assignment,
  program: OwnProgram,
  ports: ReadonlyMap<string, number>,
): Wanted {
  const leftOut: string[] = [];
  const atPorts = (what: string, make: () => TableEntry): TableEntry[] => {
    try {
      return [make()];
    } catch (error) {
      if (!(error instanceof NoPort)) throw error;
      leftOut.push(`${what} ${error.message}`);
      return [];
    }
  };
  const messages = new Map<string, { at: number; entry: TableEntry; text: P4Entry }>();
  for (const [at, text] of entries.entries())
    for (const entry of atPorts(`entry ${at} of table ${text.table}`, () => ownEntry(text, program, ports))) {
      const identity = identityOf(entry);
      const first = messages.get(identity);
      if (!first) messages.set(identity, { at, entry, text });
      else leftOut.push(`entry ${at} of table ${text.table} matches the same packets as entry ${first.at}`);
    }
  const defaults = default_actions.flatMap((one) =>
    atPorts(`the default action of table ${one.table}`, () => ownDefault(one, program, ports)),
  );
  for (const { id, ports: members } of groups)
    for (const port of members.filter((name) => !ports.has(name)))
      leftOut.push(`group ${id} ${new NoPort(port).message}`);
  return {
    program,
    entries: new Map([...messages].map(([identity, { entry }]) => [identity, entry])),
    texts: new Map([...messages].map(([identity, { text }]) => [identity, text])),
    defaults: entriesOf(defaults),
    groups: groupsOf(groups.map(({ id, ports: members }) => multicastGroup(id, members, ports))),
    leftOut,
  };
}

/** In an order in which no packet meets an entry before the group that it names. */
function changes(held: Held, wanted: Wanted, before: Wanted | null): Update[] {
  const entry = (type: Update['type'], tableEntry: TableEntry): Update => ({ type, entity: { tableEntry } });
  const group = (type: Update['type'], multicastGroupEntry: MulticastGroup): Update => ({
    type,
    entity: { packetReplicationEngineEntry: { multicastGroupEntry } },
  });
  const updates: Update[] = [];
  for (const [id, one] of wanted.groups) {
    const there = held.groups.get(id);
    if (!there) updates.push(group('INSERT', one));
    else if (JSON.stringify(there) !== JSON.stringify(one)) updates.push(group('MODIFY', one));
  }
  for (const [identity, one] of wanted.entries) {
    const there = held.entries.get(identity);
    if (!there) updates.push(entry('INSERT', one));
    else if (contentOf(there) !== contentOf(one)) updates.push(entry('MODIFY', one));
  }
  for (const [identity, { tableId, match = [], priority = 0, ...there }] of held.entries) {
    const isOwn = isMarked({ tableId, ...there }) || before?.entries.has(identity);
    if (isOwn && !wanted.entries.has(identity))
      updates.push(entry('DELETE', { tableId, match, ...(priority > 0 && { priority }) }));
  }
  for (const [tableId, one] of wanted.defaults) {
    const there = held.defaults.get(tableId);
    if (!there || contentOf(there) !== contentOf(one)) updates.push(entry('MODIFY', one));
  }
  for (const tableId of before?.defaults.keys() ?? [])
    if (!wanted.defaults.has(tableId)) updates.push(entry('MODIFY', { tableId, isDefaultAction: true }));
  for (const [id, one] of before?.groups ?? [])
    if (!wanted.groups.has(id) && held.groups.has(id)) updates.push(group('DELETE', one));
  return updates;
}

/** What others changed of what is wanted, in words. What they added beside it is theirs. */
function driftOf(held: Held, wanted: Wanted): string[] {
  const entries = [...wanted.entries];
  const gone = entries.filter(([identity]) => !held.entries.has(identity)).length;
  const changed = entries.filter(([identity, entry]) => {
    const there = held.entries.get(identity);
    return there && contentOf(there) !== contentOf(entry);
  }).length;
  const groups = [...wanted.groups].filter(
    ([id, one]) => JSON.stringify(held.groups.get(id)) !== JSON.stringify(one),
  ).length;
  const defaults = [...wanted.defaults].filter(([id, one]) => {
    const there = held.defaults.get(id);
    return !there || contentOf(there) !== contentOf(one);
  }).length;
  const said = (count: number, what: string) => (count > 0 ? [`${count} ${what}`] : []);
  return [
    ...said(gone, 'entries were deleted'),
    ...said(changed, 'entries were changed'),
    ...said(groups, 'groups were changed'),
    ...said(defaults, 'default actions were changed'),
  ];
}
