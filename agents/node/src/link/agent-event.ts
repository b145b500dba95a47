import type { AgentMessage } from '@orrery/contract';

/** Something that happened on this node: `<subject kind>.<what happened>`. */
export type AgentEvent = Omit<Extract<AgentMessage, { type: 'event' }>, 'type'>;

/** Tells the server and the log; never blocks and never throws. */
export type Emit = (
  severity: AgentEvent['severity'],
  event: string,
  subject: string,
  message: string,
  data?: Record<string, unknown>,
) => void;
