import {
  type ApplicationsSpec,
  EVENTS,
  type EventDraft,
  type NodeSamples,
  type ObservedApplications,
  type SwitchSamples,
} from '@orrery/contract';
import type { DesiredMessage } from './agent-connection.js';

interface Parts {
  /** Instances, and the modules beside them. */
  readonly instances: ReadonlySet<string>;
  readonly exits: ReadonlySet<string>;
  /** Nodes of scheduler trees, by core. */
  readonly schedulers: ReadonlySet<string>;
  readonly rules: ReadonlySet<string>;
}

const NONE: Parts = { instances: new Set(), exits: new Set(), schedulers: new Set(), rules: new Set() };

/**
 * What an agent may speak about: itself, and what the server told it to run, now or before the last change. An agent cannot
 * speak for other nodes.
 */
export class Property {
  private parts = NONE;
  private former = NONE;
  private applications: ReadonlySet<string> = new Set();
  private formerApplications: ReadonlySet<string> = new Set();

  constructor(
    private readonly node: string,
    /** Boards of this node, by the infrastructure. */
    private readonly boards: () => ReadonlySet<string>,
  ) {}

  told(desired: DesiredMessage): void {
    this.former = this.parts;
    this.parts = partsOf(desired);
  }

  toldApplications({ applications }: ApplicationsSpec): void {
    this.formerApplications = this.applications;
    this.applications = new Set(applications.map(({ definition }) => definition.id));
  }

  /** Whether the event is about this node or a part of it. */
  covers({ type, subject, data }: EventDraft): boolean {
    switch (EVENTS[type].about) {
      case 'node':
      case 'switch':
        return subject === this.node;
      case 'board':
        return (data as { board?: string }).board === subject && this.boards().has(subject);
      case 'instance':
        return this.has('instances', subject);
      case 'application':
        return this.runs(subject);
      default:
        return false;
    }
  }

  /** The samples of own parts, and how many others there were. */
  ownSamples(samples: NodeSamples): { own: NodeSamples; foreign: number } {
    const boards = this.boards();
    const own = {
      ...samples,
      instances: samples.instances.filter(({ instance_id }) => this.has('instances', instance_id)),
      exits: samples.exits.filter(({ exit_id }) => this.has('exits', exit_id)),
      modules: samples.modules.filter(({ module_id }) => this.has('instances', module_id)),
      splits: samples.splits.filter(({ from_id }) => this.has('instances', from_id)),
      schedulers: samples.schedulers.map(({ core, nodes }) => ({
        core,
        nodes: nodes.filter(({ id }) => this.has('schedulers', scheduled(core, id))),
      })),
      boards: samples.boards.filter(({ board }) => boards.has(board)),
    };
    const count = ({ instances, exits, modules, splits, schedulers, boards: ofBoards }: NodeSamples) =>
      [instances, exits, modules, splits, ofBoards, ...schedulers.map(({ nodes }) => nodes)].flat().length;
    return { own, foreign: count(samples) - count(own) };
  }

  ownSwitchSamples(samples: SwitchSamples): { own: SwitchSamples; foreign: number } {
    const rules = samples.rules.filter(({ rule_id }) => this.has('rules', rule_id));
    const splits = samples.splits.filter(({ from_id }) => this.has('rules', from_id));
    const nfs = samples.nfs?.filter(({ instance_id }) => this.has('instances', instance_id));
    const count = (of: Pick<SwitchSamples, 'rules' | 'splits' | 'nfs'>) =>
      of.rules.length + of.splits.length + (of.nfs?.length ?? 0);
    const own = { ...samples, rules, splits, ...(nfs ? { nfs } : {}) };
    return { own, foreign: count(samples) - count(own) };
  }

  ownApplications(observed: ObservedApplications): ObservedApplications {
    return { ...observed, applications: observed.applications.filter(({ id }) => this.runs(id)) };
  }

  private has(kind: keyof Parts, id: string): boolean {
    return this.parts[kind].has(id) || this.former[kind].has(id);
  }

  private runs(id: string): boolean {
    return this.applications.has(id) || this.formerApplications.has(id);
  }
}

function partsOf({ type, spec }: DesiredMessage): Parts {
  if (type === 'switch-desired')
    return {
      ...NONE,
      rules: new Set(spec.entries.flatMap(({ rule_id }) => rule_id ?? [])),
      instances: new Set(spec.entries.flatMap(({ nf }) => nf?.instance_id ?? [])),
    };
  return {
    ...NONE,
    instances: new Set([...spec.instances, ...(spec.modules ?? [])].map(({ id }) => id)),
    exits: new Set(spec.exits.map(({ exit_id }) => exit_id)),
    schedulers: new Set((spec.schedulers ?? []).flatMap(({ core, tree }) => tree.map(({ id }) => scheduled(core, id)))),
  };
}

function scheduled(core: number, node: string): string {
  return `${core} ${node}`;
}
