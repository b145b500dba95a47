import type { ChainDefinition } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { chainOf } from '../testing/chains.js';
import { CATALOGUE } from '../testing/descriptors.js';
import { validateChain } from './validate.js';

/** Edges e0 to e5: in - ids, then safe to the monitor, unsafe to the firewall, both out, and the firewall to the monitor. */
const forked = (class_slos: ChainDefinition['class_slos']): ChainDefinition => ({
  ...chainOf({ ids: 'ids', mon: 'monitor', fw: 'firewall' }, [
    ['in', 'ids'],
    ['ids', 'mon', [['ids.verdict', 'is', 'safe']]],
    ['ids', 'fw', [['ids.verdict', 'is-not', 'safe']]],
    ['mon', 'out'],
    ['fw', 'out'],
  ]),
  class_slos,
});
const problemsOf = (class_slos: ChainDefinition['class_slos']) =>
  validateChain(forked(class_slos), { descriptors: CATALOGUE, hosts: [{ id: 'client-1' }] }).map(
    ({ code, pointer, message }) => [code, pointer, message],
  );

const ratio = (id: string, a: string, b: string, value: number) =>
  ({ id, kind: 'cpu-time', a, b, ratio: value }) as const;
const over = (id: string, above: string, below: string) => ({ id, kind: 'priority', above, below }) as const;

describe('objectives between traffic classes', () => {
  it('are sound when each names two ways of its own', () => {
    expect(problemsOf([])).toEqual([]);
    expect(problemsOf([ratio('r', 'e1', 'e4', 3)])).toEqual([]);
    expect(problemsOf([over('p', 'e3', 'e2')])).toEqual([]);
  });

  it('are called differently from the objectives of the whole chain', () => {
    const definition = {
      ...forked([ratio('r', 'e1', 'e4', 3)]),
      slos: [{ id: 'r', kind: 'throughput' as const, min_bps: 1 }],
    };
    const problems = validateChain(definition, { descriptors: CATALOGUE, hosts: [{ id: 'client-1' }] });
    expect(problems).toMatchObject([{ pointer: '/class_slos/0/id', message: 'another objective is called "r"' }]);
  });

  it('name the field that is wrong', () => {
    expect(problemsOf([ratio('r', 'e9', 'e4', 3)])).toEqual([
      ['bad-objective', '/class_slos/0/a', 'there is no edge "e9"'],
    ]);
    expect(problemsOf([ratio('r', 'e1', 'e0', 3)])).toEqual([
      [
        'bad-objective',
        '/class_slos/0/b',
        '2 paths use edge "e0", so it does not identify one class; choose an edge that only one path takes',
      ],
    ]);
    expect(problemsOf([ratio('r', 'e1', 'e3', 3)])).toEqual([
      ['bad-objective', '/class_slos/0', 'both edges lie on the same path, so they carry the same class'],
    ]);
    expect(problemsOf([ratio('r', 'e1', 'e4', 3), ratio('r', 'e4', 'e1', 1 / 3)])).toEqual([
      ['bad-objective', '/class_slos/1/id', 'another objective is called "r"'],
    ]);
  });

  it('do not contradict each other', () => {
    expect(problemsOf([ratio('r', 'e1', 'e4', 3), ratio('s', 'e3', 'e2', 2)])).toEqual([
      ['bad-objective', '/class_slos/1/ratio', 'the objective contradicts the objectives before it'],
    ]);
    expect(problemsOf([over('p', 'e1', 'e4'), over('q', 'e2', 'e3')])).toEqual([
      ['bad-objective', '/class_slos/0', 'the objective is part of a circle of priorities'],
    ]);
    expect(problemsOf([over('p', 'e1', 'e4'), ratio('r', 'e1', 'e4', 1)])).toEqual([
      ['bad-objective', '/class_slos/0', 'the objective sets a class above one to which a ratio ties it'],
    ]);
  });
});
