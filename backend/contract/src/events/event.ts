import { z } from 'zod';
import { Name, StreamId, TimestampMs } from '../common.js';
import { APPLICATION_EVENTS, SUPERVISION_EVENTS } from './application.js';
import { BOARD_AGENT_EVENTS, BOARD_EVENTS } from './board.js';
import { CHAIN_EVENTS } from './chain.js';
import { type EventDeclaration, Severity } from './declare.js';
import { DEPLOYMENT_EVENTS } from './deployment.js';
import { DETECTION_EVENTS } from './detection.js';
import { ELEMENT_MANAGER_EVENTS } from './element-manager.js';
import { HEALING_EVENTS } from './healing.js';
import { LENDING_EVENTS } from './lending.js';
import { LOOP_EVENTS } from './loop.js';
import { NF_DESCRIPTOR_EVENTS } from './nf-descriptor.js';
import { AGENT_EVENTS, NODE_EVENTS } from './node.js';
import { P4_PROGRAM_EVENTS } from './p4-program.js';
import { RECONFIGURATION_EVENTS } from './reconfiguration.js';
import { SCALING_EVENTS } from './scaling.js';
import { SCENARIO_EVENTS } from './scenario.js';
import { SERVER_EVENTS } from './server.js';
import { SERVICE_REQUEST_EVENTS } from './service-request.js';
import { SESSION_EVENTS } from './session.js';
import { SHELL_EVENTS } from './shell.js';
import { SLO_EVENTS } from './slo.js';
import { SPLIT_EVENTS } from './split.js';
import { SWITCH_AGENT_EVENTS } from './switch.js';
import { TWIN_CONTROL_EVENTS, TWIN_EVENTS } from './twin.js';
import { UPKEEP_EVENTS } from './upkeep.js';
import { WEBHOOK_EVENTS } from './webhook.js';

const FROM_AGENTS = {
  ...AGENT_EVENTS,
  ...BOARD_AGENT_EVENTS,
  ...SWITCH_AGENT_EVENTS,
  ...DETECTION_EVENTS,
  ...SUPERVISION_EVENTS,
};
const FROM_TWIN = { ...TWIN_EVENTS, ...SUPERVISION_EVENTS };

/** Every event type, `<kind>.<what happened>`. A new one is one entry in the file of its capability. */
export const EVENTS = {
  ...APPLICATION_EVENTS,
  ...CHAIN_EVENTS,
  ...DEPLOYMENT_EVENTS,
  ...ELEMENT_MANAGER_EVENTS,
  ...NF_DESCRIPTOR_EVENTS,
  ...P4_PROGRAM_EVENTS,
  ...NODE_EVENTS,
  ...BOARD_EVENTS,
  ...RECONFIGURATION_EVENTS,
  ...LENDING_EVENTS,
  ...SCALING_EVENTS,
  ...LOOP_EVENTS,
  ...HEALING_EVENTS,
  ...SLO_EVENTS,
  ...SPLIT_EVENTS,
  ...SCENARIO_EVENTS,
  ...TWIN_CONTROL_EVENTS,
  ...SERVER_EVENTS,
  ...SERVICE_REQUEST_EVENTS,
  ...SESSION_EVENTS,
  ...UPKEEP_EVENTS,
  ...SHELL_EVENTS,
  ...WEBHOOK_EVENTS,
  ...FROM_AGENTS,
  ...FROM_TWIN,
};

export type EventType = keyof typeof EVENTS;
export type EventKind = EventType extends infer T ? (T extends `${infer Kind}.${string}` ? Kind : never) : never;
export type EventData<T extends EventType> = z.output<(typeof EVENTS)[T]['data']>;

export type BoardAgentEventType = keyof typeof BOARD_AGENT_EVENTS;

const typesOf = <T extends string>(group: Record<T, unknown>) => Object.keys(group) as [T, ...T[]];

export const EventType = z.enum(typesOf(EVENTS));
/** Types that agents report. */
export const AgentEventType = z.enum(typesOf(FROM_AGENTS));
export type AgentEventType = z.infer<typeof AgentEventType>;
/** Types that twind reports. */
export const TwinEventType = z.enum(typesOf(FROM_TWIN));
export type TwinEventType = z.infer<typeof TwinEventType>;

const head = {
  id: StreamId,
  t_ms: TimestampMs,
  project: Name,
  severity: Severity,
  subject: z.string(),
  message: z.string(),
  actor: z.string(),
};
type EventHead = z.output<z.ZodObject<typeof head>>;

/** Something that happened. */
export type EventOf<T extends EventType> = T extends EventType
  ? EventHead & { readonly type: T; readonly data: EventData<T> }
  : never;
export type Event = EventOf<EventType>;

/** The schema of each type of event. */
export const EVENT_SCHEMAS: ReadonlyMap<EventType, z.ZodObject> = new Map(
  EventType.options.map((type) => [
    type,
    z.strictObject({ ...head, type: z.literal(type), data: EVENTS[type].data }).describe(EVENTS[type].title),
  ]),
);

const members = [...EVENT_SCHEMAS.values()] as [z.ZodObject<{ type: z.ZodLiteral<EventType> }>];
export const Event = z.discriminatedUnion('type', members) as unknown as z.ZodType<Event>;

/** What a writer supplies; the rest is determined by the type or assigned by the log. */
export type EventDraft<T extends EventType = EventType> = T extends EventType
  ? {
      readonly type: T;
      readonly subject: string;
      readonly message: string;
      readonly data: EventData<T>;
      /** Who caused it; absent: the server. */
      readonly actor?: string;
      /** When it happened; absent: now. */
      readonly t_ms?: number;
    }
  : never;

/** An event as another program reports it. */
interface Told extends Pick<EventDraft, 'subject' | 'message' | 'actor' | 't_ms'> {
  readonly type: string;
  readonly data: unknown;
}

/** Null if it has none of these types or its data does not match the declaration of its type. */
export function toEventDraft<T extends EventType>(types: readonly T[], told: Told): EventDraft<T> | null {
  const type = types.find((each) => each === told.type);
  const data = type && EVENTS[type].data.safeParse(told.data);
  return data?.success ? ({ ...told, data: data.data } as unknown as EventDraft<T>) : null;
}

export function severityOf<T extends EventType>(type: T, data: EventData<T>): Severity {
  const { severity } = EVENTS[type] as unknown as EventDeclaration;
  return typeof severity === 'function' ? severity(data) : severity;
}

/** The part of a type before the dot. */
export function kindOfEvent(type: EventType): EventKind {
  return type.slice(0, type.indexOf('.')) as EventKind;
}

/** Whether charts mark the event: something may be wrong, or what is measured may change. */
export function isMarked({ type, severity }: Pick<Event, 'type' | 'severity'>): boolean {
  return severity !== 'info' || (EVENTS[type] as unknown as EventDeclaration).marks === true;
}
