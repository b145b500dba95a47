import type { LegacyProgram } from '@orrery/contract';
import type { Limits } from '../../platform/cgroup.js';
import type { DetachedProcess } from '../../platform/detached-process.js';
import type { HeartbeatTiming } from '../../platform/heartbeat.js';
import type { InstanceRecord } from '../hosted-instance.js';
import type { Entry } from './namespace-commands.js';
import type { NetworkNamespace } from './network-namespace.js';
import type { AskReport, FirstSign } from './program-report.js';

/** Folders of an instance. */
export interface ProgramFolders {
  /** Of its program's files. */
  files: string;
  /** The same folder as its commands see it: `{{dir}}`. */
  seen: string;
  /** That of an NF that came with the agent, as its commands see it: `{{nf_dir}}`. */
  nf_dir: string | null;
}

/** What an instance is made from. */
export interface Housed {
  record: InstanceRecord;
  program: LegacyProgram;
}

/** What the health of a program is known by. */
export interface Signs {
  ask: AskReport;
  timing: HeartbeatTiming;
  /** Packets come when `first.ask` has answered, which it has to in this time; null: at once. */
  first: FirstSign | null;
  /** Ends what a signal does not reach. Absent: one does. */
  kill?(): Promise<void>;
}

/** What surrounds the programs of legacy NFs: a network namespace of the host, or a container. */
export interface Housing {
  readonly kind: 'process' | 'container';
  folders(instanceId: string, nfDirectory: string | null): ProgramFolders;
  /** Provides what it needs before anything is made. Absent: nothing. */
  provide?(housed: Housed): Promise<void>;
  /** How far that is, in words; null: it is not under way. */
  progress?(instanceId: string): string | null;
  /** Gives up what is under way. */
  abandon?(instanceId: string): void;
  /** Whether its commands can run a program, which is given by its name or its absolute path. */
  has(housed: Housed, program: string): boolean;
  /** The namespace of an instance whose holder still runs, whoever made it. */
  held(instanceId: string): NetworkNamespace | null;
  /** With new interfaces, whose engine's ends stay down, in place of what is left of an earlier one. */
  create(housed: Housed): Promise<NetworkNamespace>;
  /** How commands get into a namespace. */
  entry(housed: Housed, namespace: NetworkNamespace): Entry;
  /** How commands get to a program that runs. */
  besides(housed: Housed, namespace: NetworkNamespace, program: DetachedProcess): Entry;
  /** The program of an instance that still runs, whoever started it. */
  running(instanceId: string): DetachedProcess | null;
  /** Resolves once it has not ended at once. */
  spawn(housed: Housed, namespace: NetworkNamespace, command: readonly string[]): Promise<DetachedProcess>;
  /** What the health of a program is known by besides its reports; null or absent: nothing. */
  signs?(housed: Housed, program: DetachedProcess): Signs | null;
  /** How a program ended, in words; `how`: as far as its process tells. */
  explain(instanceId: string, how: string): Promise<string>;
  /** Removes what is left when namespace and program are gone. */
  clear(instanceId: string): Promise<void>;
  /** The limits that hold for a program. */
  limits(housed: Housed, program: { pid: number }): Partial<Limits>;
  /** The last lines that its program wrote. */
  log(instanceId: string, lines: number): Promise<string>;
}
