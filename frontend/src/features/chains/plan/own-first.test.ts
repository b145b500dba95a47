import type { Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { ownFirst, splitReasons } from './own-first.js';

const plan = {
  pgraph: {
    nodes: [
      { id: 'web.fw', pipeline_id: 'pl-1' },
      { id: 'web.fw2', pipeline_id: 'pl-2' },
    ],
  },
  reasons: [{ subject: 'web.fw2' }, { subject: 'web.fw' }, { subject: 'web.fw2.0' }, { subject: 'web.fw.1' }],
} as unknown as Plan;

describe('splitReasons', () => {
  it('keeps a chain’s own nodes and instances apart from those of others', () => {
    const { own, others } = splitReasons(plan, 'pl-1');
    expect(own.map(({ subject }) => subject)).toEqual(['web.fw', 'web.fw.1']);
    expect(others.map(({ subject }) => subject)).toEqual(['web.fw2', 'web.fw2.0']);
  });
});

describe('ownFirst', () => {
  it('puts the chain’s own objectives first', () => {
    const slos = [{ pipeline_id: 'pl-2' }, { pipeline_id: 'pl-1' }] as Plan['slos'];
    expect(ownFirst(slos, 'pl-1').map(({ pipeline_id }) => pipeline_id)).toEqual(['pl-1', 'pl-2']);
  });
});
