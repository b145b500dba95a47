import { fileURLToPath } from 'node:url';
import type { ChainDefinition } from '@orrery/contract';
import { type ChainContext, validateChain } from '@orrery/planner';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Log } from '../../platform/log.js';
import { monitorChain } from '../../testing/fixtures.js';
import { loadCatalogue } from '../nf-descriptors/catalogue.js';
import { ChainChecker } from './chain-checker.js';

const NFS = fileURLToPath(new URL('../../../../../agents/nfs', import.meta.url));

let context: ChainContext;
let checker: ChainChecker;

beforeAll(async () => {
  const { descriptors } = await loadCatalogue([NFS]);
  context = { descriptors, hosts: [{ id: 'client-1' }] };
});

beforeEach(() => {
  checker = new ChainChecker({ error: () => undefined } as unknown as Log);
});

afterEach(() => checker.onApplicationShutdown());

/** Monitors, each with edges to later ones whose filters exclude prefixes and ports that overlap in many ways. */
function tangle(nfs: number, edges: number): ChainDefinition {
  const name = (i: number) => (i < nfs ? `n${i}` : 'out');
  return {
    ...monitorChain('tangle'),
    nodes: [
      { id: 'in', kind: 'ingress' },
      ...Array.from({ length: nfs }, (_, i) => ({ id: name(i), kind: 'nf' as const, nf: 'monitor', config: {} })),
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'first', from: 'in', to: 'n0', filter: [] },
      ...Array.from({ length: edges }, (_, i) => ({
        id: `e${i}`,
        from: name(i % nfs),
        to: name((i % nfs) + 1 + ((i * 7) % (nfs - (i % nfs)))),
        filter: [
          { attribute: 'ip.src', op: 'is-not' as const, value: `${(i * 37) % 200}.${i % 4}.0.0/16` },
          { attribute: 'ip.dst', op: 'is-not' as const, value: `${(i * 53) % 200}.0.0.0/8` },
          { attribute: 'port.dst', op: 'is-not' as const, value: `${(i * 97) % 900}-${1000 + ((i * 61) % 900)}` },
        ],
      })),
    ],
  };
}

it('answers what is cheap before large checks that were asked for earlier', async () => {
  const order: string[] = [];
  const large = tangle(40, 250);
  const checks = Array.from({ length: 3 }, () =>
    checker.problemsOf(large, context).then((found) => {
      order.push('large');
      return found;
    }),
  );
  await checker.problemsOf(monitorChain('small'), context).then(() => order.push('small'));
  expect(order).toEqual(['small']);
  const all = await Promise.all(checks);
  expect(order).toHaveLength(4);
  expect(all[2]).toEqual(validateChain(large, context));
});

it('answers others while a pattern of a description takes long to match', async () => {
  const [described] = context.descriptors;
  const properties = { name: { type: 'string', pattern: '^(a+)+$' } };
  const slow = { ...described!, id: 'slow', config_schema: { type: 'object', properties }, default_config: {} };
  const descriptors = [...context.descriptors, slow];
  const plain = monitorChain('slow');
  const nodes = plain.nodes.map((node) =>
    node.kind === 'nf' ? { ...node, nf: 'slow', config: { name: `${'a'.repeat(25)}!` } } : node,
  );
  const order: string[] = [];
  const check = checker.problemsOf({ ...plain, nodes }, { ...context, descriptors }).then((found) => {
    order.push('slow');
    return found;
  });
  await checker.problemsOf(monitorChain('small'), context).then(() => order.push('small'));
  expect(await check).toContainEqual(expect.objectContaining({ code: 'bad-config' }));
  expect(order).toEqual(['small', 'slow']);
});

it('checks what is published before what is validated, also when no more can wait', async () => {
  const large = tangle(40, 250);
  let validated = 0;
  const checks = Array.from({ length: 70 }, () => checker.problemsOf(large, context).then(() => validated++));
  const settled = Promise.allSettled(checks);
  await expect(checks[69]).rejects.toMatchObject({ status: 503 });
  expect(await checker.problemsOf(large, context, 'urgent')).toEqual(validateChain(large, context));
  expect(validated).toBeLessThan(3);
  await checker.onApplicationShutdown();
  await settled;
});

it('refuses checks beyond those that may wait', async () => {
  const large = tangle(74, 528);
  const asked = Array.from({ length: 70 }, () => checker.problemsOf(large, context));
  const settled = Promise.allSettled(asked);
  await expect(asked[69]).rejects.toMatchObject({ status: 503 });
  await checker.onApplicationShutdown();
  const outcomes = await settled;
  expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
});
