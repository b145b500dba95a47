import { expect, it } from 'vitest';
import { RuleLatencies } from './rule-latency.js';

const counted = (...packets: number[]) =>
  new Map([['classify/c.e1', packets.map((some, i) => ({ about_us: 10 * 2 ** i, packets: some }))]]);

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
