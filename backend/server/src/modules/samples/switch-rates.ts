import { type SwitchSamples, sampleKey } from '@orrery/contract';

interface Stand {
  readonly packets: number;
  readonly bytes: number;
}

/** Turns the counters of one switch's rules into rates. A decreased counter means a rewritten entry, counting from zero. */
export class SwitchRates {
  private before: ReadonlyMap<string, Stand> | null = null;

  constructor(private readonly id: string) {}

  take({ interval_ms, rules }: SwitchSamples): (readonly [key: string, value: number])[] {
    const { before } = this;
    this.before = new Map(rules.map(({ rule_id, packets, bytes }) => [rule_id, { packets, bytes }]));
    if (before === null) return [];
    const seconds = interval_ms / 1000;
    return rules.flatMap(({ rule_id, packets, bytes }) => {
      const past = before.get(rule_id);
      const rate = (now: number, then = 0) => (now >= then ? now - then : now) / seconds;
      const subject = `${this.id} ${rule_id}`;
      return [
        [sampleKey('rule', subject, 'pps'), rate(packets, past?.packets)],
        [sampleKey('rule', subject, 'bps'), 8 * rate(bytes, past?.bytes)],
      ] as const;
    });
  }
}
