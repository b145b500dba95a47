import { AgentEventType, type EventDraft, toEventDraft } from '@orrery/contract';
import type { ChainsOnNodes } from '../../ports/chains-on-nodes.js';
import type { AgentReport } from './agent-connection.js';
import type { AgentPace } from './agent-limits.js';
import type { Property } from './property.js';

type AgentEvent = Extract<AgentReport, { type: 'event' }>;

/** Largest event of an agent, as JSON, without the chains that the server adds. */
const MAX_EVENT_CHARACTERS = 8192;
/** Control characters, and those that change the direction of text, would forge what a reader sees. */
const INVISIBLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** What an agent could not tell while it was cut off it tells within this time once it is back. */
const CATCH_UP_MS = 10_000;
/** How late a connected agent may tell an event. */
const ON_ITS_WAY_MS = 2000;

/** The connection of an agent; monotonic clock. */
export interface Contact {
  readonly helloMs: number;
  /** For how long it was cut off before that. */
  readonly awayMs: number;
}

/** When an event that arrives now happened, by the server's clock: the agent's may be wrong, and says only what can be. */
function happenedMs(toldMs: number, { helloMs, awayMs }: Contact): number {
  const nowMs = Date.now();
  const sinceHelloMs = performance.now() - helloMs;
  const lateMs = ON_ITS_WAY_MS + (sinceHelloMs < CATCH_UP_MS ? sinceHelloMs + awayMs : 0);
  return Math.min(nowMs, Math.max(nowMs - lateMs, toldMs));
}

/**
 * What is recorded of an event that an agent reports, with the node and, where they are declared, the chains of what was to run
 * there when it happened. One that the contract does not define, that is too large or that is not about a part of the node is
 * recorded as `node.event` of the node, with nothing of its content but its name.
 */
export function draftOfAgent(
  node: string,
  report: AgentEvent,
  property: Property,
  desired: ChainsOnNodes,
  contact: Contact,
): { readonly draft: EventDraft; readonly known: boolean } {
  const { event, subject, message, t_ms, data } = report;
  const actor = `agent ${node}`;
  const chains = desired.ranAt(node, happenedMs(t_ms, contact));
  const told = { subject, message: message.replace(INVISIBLE, ' '), t_ms, actor };
  const draft = toEventDraft(AgentEventType.options, { ...told, type: event, data: { ...data, node, chains } });
  if (draft && property.covers(draft) && charactersOf(draft) <= MAX_EVENT_CHARACTERS) return { draft, known: true };
  const name = event.replace(INVISIBLE, ' ');
  const refusal = `${node} reported ${name}, which is no event of its own`;
  return { draft: { type: 'node.event', subject: node, message: refusal, actor, data: { event: name } }, known: false };
}

function charactersOf({ data, ...told }: EventDraft): number {
  const { chains: _chains, ...own } = data as { readonly chains?: unknown };
  return JSON.stringify({ ...told, data: own }).length;
}

/** Lets events through at the pace of the node; those beyond it are counted, and told as soon as the pace allows. */
export class EventGate {
  private untold = 0;

  constructor(
    private readonly node: string,
    private readonly pace: AgentPace['events'],
    private readonly dropped: () => void,
  ) {}

  /** What to record: the event, after a note of what was dropped before it; nothing if it is dropped itself. */
  pass(draft: EventDraft): EventDraft[] {
    if (this.pace.tryTake(1)) return [...this.note(), draft];
    this.untold++;
    this.dropped();
    return [];
  }

  /** A note of what was dropped, for an agent that says nothing more; nothing if all is told or the pace does not allow it yet. */
  due(): EventDraft[] {
    return this.untold > 0 && this.pace.tryTake(1) ? this.note() : [];
  }

  private note(): EventDraft[] {
    const dropped = this.untold;
    if (dropped === 0) return [];
    this.untold = 0;
    return [
      {
        type: 'agent.events-dropped',
        subject: this.node,
        message: `${dropped} events of ${this.node} were dropped because it sent too many`,
        data: { dropped, node: this.node },
      },
    ];
  }
}
