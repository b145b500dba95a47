import { expect, it } from 'vitest';
import { RuleLatencies } from './rule-latency.js';

const at = (place: number, ...packets: number[]) => ({
  place,
  steps: packets.map((some, i) => ({ about_us: 10 * 2 ** i, packets: some })),
});
const counted = (...packets: number[]) => new Map([['classify/c.e1', at(5, ...packets)]]);

it('tells how long the packets of the last ten seconds took, and begins anew with the switch', () => {
  const latencies = new RuleLatencies();
  const rule = () => latencies.of('classify/c.e1');
  latencies.take(counted(50, 0, 0), 0);
  expect(rule()).toBeNull();
  latencies.take(counted(50, 98, 2), 1000);
  expect(rule()).toEqual({ packets: 100, p50_us: 20, p99_us: 40 });
  expect(latencies.of('classify/other.e1')).toBeNull();
  latencies.take(counted(60, 98, 2), 11_000);
  expect(rule()).toEqual({ packets: 10, p50_us: 10, p99_us: 10 });
  latencies.take(counted(1, 0, 0), 12_000);
  expect(rule()).toBeNull();
  latencies.take(counted(1, 0, 3), 13_000);
  expect(rule()).toEqual({ packets: 3, p50_us: 40, p99_us: 40 });
  latencies.take(new Map(), 14_000);
  expect(rule()).toBeNull();
});

it('tells nothing of what a place counted before for another rule, nor when one that went comes back', () => {
  const latencies = new RuleLatencies();
  const rule = () => latencies.of('classify/c.e1');
  latencies.take(counted(0, 10, 0), 0);
  latencies.take(counted(0, 20, 0), 1000);
  latencies.take(new Map([['classify/c.e1', at(6, 900, 900, 900)]]), 2000);
  expect(rule()).toBeNull();
  latencies.take(new Map([['classify/c.e1', at(6, 900, 900, 901)]]), 3000);
  expect(rule()).toEqual({ packets: 1, p50_us: 40, p99_us: 40 });
  latencies.take(new Map(), 4000);
  latencies.take(counted(0, 400, 0), 5000);
  expect(rule()).toBeNull();
});

it('begins anew for the rule alone that counts fewer than before', () => {
  const latencies = new RuleLatencies();
  const both = (one: number, other: number) =>
    new Map([
      ['one', at(1, one)],
      ['other', at(2, other)],
    ]);
  latencies.take(both(5, 5), 0);
  latencies.take(both(6, 2), 1000);
  expect([latencies.of('one')?.packets, latencies.of('other')]).toEqual([1, null]);
});
