/**
 * Which servers count as working. An agent that is away says nothing of its engine, which forwards on: its server is given up
 * only after a while. After a start of this server that while begins for all agents, none of which has connected yet.
 */
export class Presence {
  /** Monotonic times since which agents have been away, by server. */
  private readonly away = new Map<string, number>();

  constructor(private readonly graceMs: number) {}

  works(server: string, isConnected: boolean, nowMs: number): boolean {
    if (isConnected) {
      this.away.delete(server);
      return true;
    }
    const sinceMs = this.away.get(server) ?? nowMs;
    this.away.set(server, sinceMs);
    return nowMs - sinceMs < this.graceMs;
  }

  /** Whether servers count as working whose agents are away. */
  isWaiting(nowMs: number): boolean {
    return [...this.away.values()].some((sinceMs) => nowMs - sinceMs < this.graceMs);
  }
}
