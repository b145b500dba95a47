import type { ChainDefinition } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { dependencies } from '../parallel/dependency/dependencies.js';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { legacyNf } from '../testing/legacy.js';
import { validateChain } from './validate.js';

const ALL = [...CATALOGUE, legacyNf('router', 'route'), legacyNf('bridge', 'bridge')];

/** ids, then the NF, then safe traffic to a monitor and the rest straight out. */
const behind = (nf: string, slos: ChainDefinition['slos'] = []): ChainDefinition => ({
  ...chainOf({ ids: 'ids', leg: nf, mon: 'monitor' }, [
    ['in', 'ids'],
    ['ids', 'leg'],
    ['leg', 'mon', [['ids.verdict', 'is', 'safe']]],
    ['leg', 'out', [['ids.verdict', 'is-not', 'safe']]],
    ['mon', 'out'],
  ]),
  slos,
});
const problemsOf = (definition: ChainDefinition) =>
  validateChain(definition, { descriptors: ALL, hosts: [{ id: 'client-1' }] }).map(({ code, pointer }) => [
    code,
    pointer,
  ]);
const FAST: ChainDefinition['slos'] = [{ id: 'fast', kind: 'latency', percentile: 99, max_us: 1000 }];

describe('what a legacy NF does not preserve', () => {
  it('is missed behind it only: attributes on edges, and the ingress time of latency objectives', () => {
    expect(problemsOf(behind('bridge', FAST))).toEqual([]);
    expect(problemsOf(behind('router', FAST))).toEqual([
      ['lost-attribute', '/edges/2/filter/0/attribute'],
      ['lost-attribute', '/edges/3/filter/0/attribute'],
      ['bad-objective', '/slos/0'],
    ]);
    const before = chainOf({ leg: 'router', ids: 'ids', mon: 'monitor' }, [
      ['in', 'leg'],
      ['leg', 'ids'],
      ['ids', 'mon', [['ids.verdict', 'is', 'safe']]],
      ['ids', 'out', [['ids.verdict', 'is-not', 'safe']]],
      ['mon', 'out'],
    ]);
    expect(problemsOf(before)).toEqual([]);
    const named = chainOf({ ip: 'ids', leg: 'router', mon: 'monitor' }, [
      ['in', 'ip'],
      ['ip', 'leg'],
      ['leg', 'mon', [['ip.proto', 'is', 'tcp']]],
      ['leg', 'out', [['ip.proto', 'is-not', 'tcp']]],
      ['mon', 'out'],
    ]);
    expect(problemsOf(named)).toEqual([]);
    expect(problemsOf({ ...before, slos: [{ id: 'much', kind: 'throughput', min_bps: 1 }] })).toEqual([]);
  });

  it('keeps it out of parallel steps, where a merge finds copies by the ingress time', () => {
    const pairs = (nf: string) =>
      dependencies(
        [
          { id: 'a', nf },
          { id: 'b', nf: 'normalizer' },
        ],
        ALL,
      ).map(({ parallel, conflicts }) => [parallel, conflicts.map(({ kind }) => kind)]);
    expect(pairs('bridge')).toEqual([[true, []]]);
    expect(pairs('router')).toEqual([[false, ['identity']]]);
  });
});
