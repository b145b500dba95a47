import { ChainDefinition } from '@orrery/contract';
import { expect, it } from 'vitest';
import { changesWithoutPath } from './without-path-change.js';

const chain = (changes: object = {}, version = 1) => ({
  chain_id: 'web',
  version,
  definition: ChainDefinition.parse({
    name: 'web',
    title: 'Web',
    traffic_class: { from: ['client-1'], match: [], rate_bps: 1e9 },
    nodes: [],
    edges: [],
    slos: [{ id: 'fast', kind: 'latency', percentile: 99, max_us: 100 }],
    ...changes,
  }),
});
const of = (next: ReturnType<typeof chain>) =>
  changesWithoutPath({ chains: [next] }, { chains: [chain()] }, () => 'Web');

it('names changed, new and removed objectives', () => {
  const slower = { id: 'fast', kind: 'latency', percentile: 99, max_us: 200 };
  const wide = { id: 'wide', kind: 'throughput', min_bps: 1e6 };
  expect(of(chain({ slos: [slower, wide] }, 2))).toEqual(['Web: objectives change: fast, wide is new']);
  expect(of(chain({ slos: [] }, 2))).toEqual(['Web: objectives change: fast goes']);
});

it('names a changed rate, and a version that only describes the chain anew', () => {
  expect(of(chain({ traffic_class: { from: ['client-1'], match: [], rate_bps: 2e9 } }, 2))[0]).toMatch(
    /^Web: the offered rate changes from 1.* to 2/,
  );
  expect(of(chain({ description: 'Other' }, 2))).toEqual(['Web: only what describes it changes']);
});

it('is empty for what runs already, also as a draft that equals it', () => {
  expect(of(chain())).toEqual([]);
  expect(of(chain({}, 0))).toEqual([]);
});
