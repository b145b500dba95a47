import { z } from 'zod';
import { Id, Name } from '../common.js';

export const Severity = z.enum(['info', 'warning', 'error']);
export type Severity = z.infer<typeof Severity>;

/** What the subject of an event refers to. */
export type EventSubject =
  | 'application'
  | 'board'
  | 'capture'
  | 'chain'
  | 'fault'
  | 'host'
  | 'infrastructure'
  | 'instance'
  | 'lending-group'
  | 'link'
  | 'loop'
  | 'nf-descriptor'
  | 'node'
  | 'operation'
  | 'p4-program'
  | 'pcap'
  | 'policy'
  | 'reconfiguration'
  | 'scaling'
  | 'scaling-policy'
  | 'scenario-run'
  | 'server'
  | 'session'
  | 'switch'
  | 'twin'
  | 'webhook';

/** Everything that the type of an event determines. */
export interface EventDeclaration<Data extends z.ZodObject = z.ZodObject> {
  readonly title: string;
  readonly about: EventSubject;
  /** Constant, or derived from the data. */
  readonly severity: Severity | ((data: z.output<Data>) => Severity);
  /** Charts mark it also where it is an `info`: it may change what is measured. */
  readonly marks?: boolean;
  /** Undeclared fields are dropped. A field added later needs a default, to keep older logs readable. */
  readonly data: Data;
}

interface Declared<Data extends z.ZodObject> {
  readonly title: string;
  readonly about: EventSubject;
  /** Absent: `info`. */
  readonly severity?: EventDeclaration<Data>['severity'];
  readonly marks?: boolean;
  readonly data: Data;
}

const NOTHING = z.object({});

/** Charts of these chains mark the event, wherever they run by then. */
export const CHAINS_THERE = z.array(Id).default([]).describe('of what runs, or ran, there');

/** An event that the server writes. */
export function event<Data extends z.ZodObject>({
  severity = 'info',
  ...rest
}: Declared<Data>): EventDeclaration<Data> {
  return { severity, ...rest };
}

/** An event that an agent reports; the server adds the node, and `chains` where they are declared. */
export function agentEvent<Shape extends z.ZodRawShape>(declared: {
  readonly title: string;
  readonly about: EventSubject;
  readonly severity?: Severity;
  readonly data?: Shape;
}) {
  const { severity = 'info', data = {} as Shape, ...rest } = declared;
  return { severity, ...rest, data: z.object({ ...data, node: Name }) };
}

/** An event that the twin reports: it has a message and no data. */
export function twinEvent(title: string, about: EventSubject, severity: Severity = 'info') {
  return event({ title, about, severity, data: NOTHING });
}

/** An event that the twin reports of what runs chains, which the server adds. */
export function twinEventOfChains(title: string, about: EventSubject, severity: Severity) {
  return event({ title, about, severity, data: z.object({ chains: CHAINS_THERE }) });
}
