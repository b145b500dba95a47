import type { AgentEventType, AgentMessage, EventData } from '@orrery/contract';

/** Something that happened on this node. */
export type AgentEvent = Omit<Extract<AgentMessage, { type: 'event' }>, 'type'>;

/** The server adds the node, and the chains of what runs there. */
export type AgentEventData<T extends AgentEventType> = Omit<EventData<T>, 'node' | 'chains'>;

export function agentEvent<T extends AgentEventType>(
  event: T,
  subject: string,
  message: string,
  data: AgentEventData<T>,
  t_ms: number,
): AgentEvent {
  return { event, subject, message, t_ms, data };
}

/** Reports to the server and the log; never blocks and never throws. */
export type Emit = <T extends AgentEventType>(
  event: T,
  subject: string,
  message: string,
  data: AgentEventData<T>,
) => void;
