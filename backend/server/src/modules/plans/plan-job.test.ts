import { beforeEach, describe, expect, it } from 'vitest';
import { KeptValues, NotKept, SharedValues } from '../../platform/worker-thread/shared-values.js';
import { monitorChain, RACK } from '../../testing/fixtures.js';
import { type Planned, receivedInput, sentInput } from './plan-job.js';

const chain = (i: number) => ({ chain_id: `p-${i}`, version: 1, definition: monitorChain(`c${i}`) });
const base = { id: 'plan-1', chains: [chain(1), chain(2)] } as unknown as NonNullable<Planned['base']>;
const input = (more: Partial<Planned> = {}): Planned => ({
  id: 'plan-2',
  created_ms: 5,
  chains: [...base.chains, chain(3)],
  descriptors: [],
  infrastructure: RACK,
  base,
  abilities: { 'server-1': ['mirror'] },
  switches: new Map(),
  reserved_slots: [{ board: 'board-1', slot: 0 }],
  ...more,
});

describe('the input of a plan, sent to a thread', () => {
  let shared: SharedValues;
  let kept: KeptValues;

  beforeEach(() => {
    shared = new SharedValues();
    kept = new KeptValues();
  });

  /** As a thread receives it. */
  const across = (planned: Planned) => receivedInput(structuredClone(sentInput(planned, shared)), kept);

  it('is the same there', () => {
    for (const planned of [input(), input({ base: null }), input({ chains: [chain(1)] })])
      expect(across(planned)).toEqual(planned);
  });

  it('has the very objects that earlier ones had, also if it is made of copies', () => {
    const first = across(input());
    const next = across(structuredClone(input()));
    for (const field of ['base', 'infrastructure', 'descriptors', 'abilities', 'switches'] as const)
      expect(next[field]).toBe(first[field]);
    expect(across(input()).chains[0]).toBe(first.base!.chains[0]);
  });

  it('is sent without what the thread has, as long as that is among the last two', () => {
    const size = (planned: Planned) => JSON.stringify(sentInput(planned, shared)).length;
    const other = (id: string) => input({ base: { ...base, id } });
    across(input());
    expect(size(input())).toBeLessThan(JSON.stringify(RACK).length);
    for (const id of ['plan-3', 'plan-4']) across(other(id));
    expect(sentInput(input(), shared).common.find(([field]) => field === 'base')![1]).toHaveProperty('value');
  });

  it('is refused by a thread that does not have what it names, and whole again afterwards', () => {
    across(input());
    const anew = new KeptValues();
    expect(() => receivedInput(sentInput(input(), shared), anew)).toThrow(NotKept);
    shared.forget();
    expect(receivedInput(sentInput(input(), shared), anew)).toEqual(input());
  });
});
