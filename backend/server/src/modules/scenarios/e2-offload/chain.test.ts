import fc from 'fast-check';
import { expect, it } from 'vitest';
import { generate } from '../frames.js';
import { CHAIN, definitionOf, deniedOf, FIRST_NFS, LAST_NF } from './chain.js';
import { E2_OFFLOAD } from './e2-offload.js';

const ENDS = { from: '10.0.1.1', to: '10.0.2.1' };
const FRAMES = generate(3, 400, ENDS);
const BEHIND_ADDRESSES = 34;

/** Its rules, as the chain has them. */
const rulesOf = (denied_share: number) => {
  const { nodes } = definitionOf({ from: 'client-3', address: ENDS.to, rate_pps: 100, denied_share });
  const firewall = nodes.find(({ id }) => id === 'firewall')!;
  return (firewall as { config: Record<string, unknown> }).config.rules as { dst_port: string }[];
};

it('expects denied what the rule of the firewall holds for', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 0.9, noNaN: true }), (share) => {
      const [lo, hi] = rulesOf(share)[0]?.dst_port.split('-').map(Number) ?? [1, 0];
      const denied = FRAMES.filter((frame) => {
        const port = frame.readUInt16BE(BEHIND_ADDRESSES + 2);
        return port >= lo! && port <= hi!;
      });
      const bytes = denied.reduce((sum, { length }) => sum + length, 0);
      expect(deniedOf(FRAMES, share)).toEqual({ packets: denied.length, bytes });
    }),
  );
});

it('denies about the share, of some flows and not of all', () => {
  const { packets } = deniedOf(FRAMES, 0.5);
  expect(packets).toBeGreaterThan(150);
  expect(packets).toBeLessThan(250);
  expect(deniedOf(FRAMES, 0).packets).toBe(0);
  expect(rulesOf(0)).toEqual([]);
});

it('has the NFs that figures are about, the last of them by itself at the end', () => {
  const { name, nodes, edges } = definitionOf({ from: 'a', address: ENDS.to, rate_pps: 100, denied_share: 0.5 });
  expect(name).toBe(CHAIN);
  const order = edges.map(({ to }) => to);
  expect(order).toEqual([...FIRST_NFS, LAST_NF, 'out']);
  expect(nodes.map(({ id }) => id)).toEqual(['in', ...order]);
});

it('refuses a host that sends to itself, and more frames than a host can tell apart, at the field', () => {
  expect(() => E2_OFFLOAD.script({ from: 'web-1' })).toThrow('/parameters/to: must not be the sending host');
  expect(() => E2_OFFLOAD.script({ seconds: 60, rate_pps: 1000 })).toThrow(
    '/parameters/seconds: makes more than 10000 frames at 1000 per second',
  );
  expect(() => E2_OFFLOAD.script({ seconds: 10, rate_pps: 1000 })).not.toThrow();
});
