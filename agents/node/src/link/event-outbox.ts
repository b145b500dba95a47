import { type AgentEvent, agentEvent } from './agent-event.js';

/**
 * Events waiting for the server. Keeps the newest `limit`; dropped ones are counted and reported with the next batch.
 */
export class EventOutbox {
  private readonly events: AgentEvent[] = [];
  private lost = 0;

  constructor(private readonly limit = 1000) {}

  get dropped(): number {
    return this.lost;
  }

  get size(): number {
    return this.events.length;
  }

  add(event: AgentEvent): void {
    this.events.push(event);
    if (this.events.length > this.limit) {
      this.events.shift();
      this.lost++;
    }
  }

  /** Passes on everything, oldest first, for as long as `send` succeeds; keeps the rest. */
  drain(node: string, now_ms: number, send: (event: AgentEvent) => boolean): void {
    if (this.lost > 0) {
      const message = `${this.lost} events were dropped while the server was unreachable`;
      const told = send(agentEvent('agent.events-dropped', node, message, { dropped: this.lost }, now_ms));
      if (!told) return;
      this.lost = 0;
    }
    while (this.events.length > 0 && send(this.events[0]!)) this.events.shift();
  }
}
