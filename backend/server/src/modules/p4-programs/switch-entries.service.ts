import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import {
  P4Cells,
  type P4CellsRequest,
  type P4Entries,
  type P4Entry,
  type P4Ports,
  P4Reading,
  p4EntriesErrors,
  type SwitchNode,
} from '@orrery/contract';
import { COLLECTIONS, type Collections } from '../../platform/durable-collection/collections.js';
import { type Precondition, requireRead } from '../../platform/precondition.js';
import { conflict, invalid, notFound, ProblemError } from '../../platform/problem.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { FABRIC_VIEW, type FabricView } from '../../ports/fabric-driver.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { SWITCH_FLEET, type SwitchFleet } from '../../ports/switch-fleet.js';
import type { KnownProgram } from '../../ports/switch-programs.js';
import { exampleEntries } from './example-entries.js';
import { P4ProgramsService } from './p4-programs.service.js';

const MOST_NAMED = 20;

export interface TaggedEntries {
  readonly content: P4Entries;
  /** Changes with every change to the entries of the switch, and with its program. */
  readonly revision: string;
}

/** What the tables of switches with programs of their own are to hold, and what they hold. */
@Injectable()
export class SwitchEntriesService {
  constructor(
    @Inject(COLLECTIONS) private readonly collections: Collections,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(SWITCH_FLEET) private readonly fleet: SwitchFleet,
    @Inject(FABRIC_VIEW) private readonly fabric: FabricView,
    @Inject(P4ProgramsService) private readonly programs: P4ProgramsService,
  ) {}

  /** Throws 404, and 409 if the switch runs no program of its own. */
  get(id: string): TaggedEntries {
    const { program } = this.own(id);
    const { name: _, hash: __, ...content } = this.programs.assignmentOf(id, program.name);
    return { content, revision: this.revisionOf(id, program) };
  }

  put(id: string, content: P4Entries, given: Precondition, by: string): Promise<void> {
    return this.collections.commit((batch) => {
      const { node, program } = this.own(id);
      const current = this.get(id);
      const ifMatch = requireRead(given, `set of entries of ${id}`, current.revision);
      if (ifMatch !== null && ifMatch !== current.revision)
        throw new ProblemError(412, `The entries of ${id} were changed meanwhile.`);
      const errors = p4EntriesErrors(content, program.content, this.portsOf(node));
      if (errors.length > 0) throw invalid(errors);
      const misfits = this.programs.keptFor(id, program)?.errors.length ?? 0;
      if (misfits === 0 && isDeepStrictEqual(current.content, content)) return;
      const { name, files } = program;
      batch.put(this.programs.entries, { switch: id, program: name, hash: files.hash, content });
      batch.also((transaction) =>
        this.events.appendIn(transaction, {
          type: 'switch.entries-changed',
          subject: id,
          message: `The entries of ${name} at ${id} were changed: ${content.entries.length} now`,
          actor: by,
          data: { program: name, entries: content.entries.length, ...differences(current.content, content) },
        }),
      );
    });
  }

  /** Throws 409 if the switch does not run an example. */
  example(id: string): P4Entries {
    const { program } = this.own(id);
    const isExample = this.programs.get(program.name).example;
    const found = isExample && exampleEntries(program.name, id, this.infrastructure.current.infrastructure);
    if (!found) throw conflict(`${id} runs ${program.name}, which is no example.`);
    return found;
  }

  async tables(id: string): Promise<P4Reading> {
    this.own(id);
    return this.ask(id, 'read_program', {}, P4Reading);
  }

  async cells(id: string, request: P4CellsRequest): Promise<P4Cells> {
    this.own(id);
    return this.ask(id, 'read_cells', request, P4Cells);
  }

  private async ask<T>(
    id: string,
    method: 'read_program' | 'read_cells',
    params: Record<string, unknown>,
    schema: { safeParse(value: unknown): { success: true; data: T } | { success: false } },
  ): Promise<T> {
    const told = await this.fleet.program(id, method, params).catch((error: unknown) => {
      throw fieldRefusal(error, params) ?? error;
    });
    const answer = schema.safeParse(told);
    if (!answer.success) throw new ProblemError(502, `The agent of ${id} sent entries that cannot be read.`);
    return answer.data;
  }

  private own(id: string): { node: SwitchNode; program: KnownProgram } {
    const node = this.infrastructure.current.infrastructure.switches.find((one) => one.id === id);
    if (!node) throw notFound('switch', id);
    if (node.program === undefined)
      throw conflict(`${id} runs no P4 program of its own: choose one on Topology, or as its \`program\`.`);
    const program = this.programs.find(node.program);
    if (!program) throw conflict(`There is no P4 program "${node.program}", which ${id} is to run.`);
    return { node, program };
  }

  /** Those of the infrastructure, with the numbers that the agent told; another driver may number them otherwise. */
  private portsOf(at: SwitchNode): P4Ports {
    const { id } = at;
    const { links } = this.infrastructure.current.infrastructure;
    const observed = this.fabric.lackOf(at) === null ? this.fleet.observedSwitch(id) : null;
    const told = new Map(observed?.ports.map(({ name, number }) => [name, number]));
    const names = links.flatMap(({ a, b }) => [a, b]).flatMap(({ node, port }) => (node === id ? [port] : []));
    return new Map(names.map((name) => [name, told.get(name) ?? null]));
  }

  private revisionOf(id: string, program: KnownProgram): string {
    const isKept = this.programs.keptFor(id, program) !== null;
    return `${program.files.hash.slice(0, 8)}-${isKept ? this.programs.entries.revisionOf(id) : 0}`;
  }
}

/** What an agent refuses at a field of the request, which is not the agent's fault; null: something else went wrong. */
function fieldRefusal(error: unknown, params: Record<string, unknown>): ProblemError | null {
  const at = error instanceof ProblemError && error.status === 502 ? /^\S+: \/(\w+): (.+)$/s.exec(error.message) : null;
  if (!at || !(at[1]! in params)) return null;
  return invalid([{ pointer: `/${at[1]}`, detail: at[2]!, code: 'refused' }]);
}

function differences(before: P4Entries, after: P4Entries): { added: string[]; removed: string[] } {
  const [old, now] = [textsOf(before), textsOf(after)];
  const missing = (of: readonly string[], others: readonly string[]) => {
    const known = new Set(others);
    return of.filter((text) => !known.has(text)).slice(0, MOST_NAMED);
  };
  return { added: missing(now, old), removed: missing(old, now) };
}

const textsOf = ({ entries, default_actions, groups }: P4Entries): string[] => [
  ...entries.map(textOf),
  ...default_actions.map(({ table, action, params }) =>
    `default of ${table}: ${action}(${listOf(params)})`.slice(0, 300),
  ),
  ...groups.map(({ id, ports }) => `group ${id}: ${ports.join(', ')}`.slice(0, 300)),
];

function textOf({ table, match, action, params, priority }: P4Entry): string {
  const rank = priority === undefined ? '' : ` priority ${priority}`;
  return `${table} ${listOf(match)}${rank}: ${action}(${listOf(params)})`.slice(0, 300);
}

const listOf = (of: Readonly<Record<string, string>>): string =>
  Object.entries(of)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
