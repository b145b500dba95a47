import { type SwitchSamples, sampleKey } from '@orrery/contract';

interface Stand {
  readonly packets: number;
  readonly bytes: number;
}

/** A set that arrives later than this share of its interval after it: others between were lost, or it was delayed. */
const LATE_SHARE = 0.5;

interface Before {
  readonly rules: ReadonlyMap<string, Stand>;
  readonly at_ms: number;
}

/**
 * Turns the counters of one switch's rules into rates. A decreased counter means a rewritten entry, counting from zero.
 * No rates are given of a set that may have lost the one before it, such as after a restart of the agent: its interval is
 * not the one in which its counters grew.
 */
export class SwitchRates {
  private before: Before | null = null;

  constructor(private readonly id: string) {}

  /** `at_ms`: when they arrived, of a monotonic clock. */
  take({ interval_ms, rules }: SwitchSamples, at_ms: number): (readonly [key: string, value: number])[] {
    const { before } = this;
    this.before = { at_ms, rules: new Map(rules.map(({ rule_id, packets, bytes }) => [rule_id, { packets, bytes }])) };
    if (before === null || at_ms - before.at_ms > (1 + LATE_SHARE) * interval_ms) return [];
    const seconds = interval_ms / 1000;
    return rules.flatMap(({ rule_id, packets, bytes }) => {
      const past = before.rules.get(rule_id);
      const rate = (now: number, then = 0) => (now >= then ? now - then : now) / seconds;
      const subject = `${this.id} ${rule_id}`;
      return [
        [sampleKey('rule', subject, 'pps'), rate(packets, past?.packets)],
        [sampleKey('rule', subject, 'bps'), 8 * rate(bytes, past?.bytes)],
      ] as const;
    });
  }
}
