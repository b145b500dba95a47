import type { AgentEvent } from './agent-event.js';

/** Events that wait for the server. Holds the newest `limit`; what fell out is counted and told with the next batch. */
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

  /** Hands out everything, oldest first, while `send` takes it; what it does not take stays. */
  drain(node: string, now_ms: number, send: (event: AgentEvent) => boolean): void {
    if (this.lost > 0) {
      const told = send({
        event: 'agent.events-dropped',
        severity: 'warning',
        subject: node,
        message: `${this.lost} events were dropped while the server was out of reach`,
        t_ms: now_ms,
        data: { dropped: this.lost },
      });
      if (!told) return;
      this.lost = 0;
    }
    while (this.events.length > 0 && send(this.events[0]!)) this.events.shift();
  }
}
