import type { Plan } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { ownFirst, splitReasons } from './own-first.js';

const plan = {
  pgraph: {
    nodes: [
      { id: 'web.fw', chain_id: 'ch-1' },
      { id: 'web.fw2', chain_id: 'ch-2' },
    ],
  },
  classes: [{ id: 'web.in/out', chain_id: 'ch-1' }],
  parallel: [],
  reasons: [
    { subject: 'web.fw2' },
    { subject: 'web.fw' },
    { subject: 'web.fw2.0' },
    { subject: 'web.fw.1' },
    { subject: 'web.in/out' },
    { subject: 'ch-1' },
    { subject: 'ch-2' },
  ],
} as unknown as Plan;

describe('splitReasons', () => {
  it('keeps what concerns a chain apart from what concerns others', () => {
    const { own, others } = splitReasons(plan, 'ch-1');
    expect(own.map(({ subject }) => subject)).toEqual(['web.fw', 'web.fw.1', 'web.in/out', 'ch-1']);
    expect(others.map(({ subject }) => subject)).toEqual(['web.fw2', 'web.fw2.0', 'ch-2']);
  });
});

describe('ownFirst', () => {
  it('puts the chain’s own objectives first', () => {
    const slos = [{ chain_id: 'ch-2' }, { chain_id: 'ch-1' }] as Plan['slos'];
    expect(ownFirst(slos, 'ch-1').map(({ chain_id }) => chain_id)).toEqual(['ch-1', 'ch-2']);
  });
});
