import { describe, expect, it } from 'vitest';
import { check } from './problems.js';
import { chain, MONITOR } from './testing.js';

const context = { descriptors: [MONITOR], hosts: [{ id: 'client-1' }, { id: 'client-2' }] };
const mine = chain('ingress>monitor', 'monitor>egress');
const other = { ...mine, name: 'web', traffic_class: { ...mine.traffic_class, match: [] } };

describe('check', () => {
  it('finds packets that another deployed chain claims too', () => {
    expect(check(mine, context).all).toEqual([]);
    const { all } = check(mine, { ...context, others: [other] });
    expect(all).toMatchObject([{ code: 'class-conflict', severity: 'error', pointer: '/traffic_class' }]);
    expect(all[0]?.message).toContain('belong to "web" too');
  });

  it('finds nothing where the classes are apart, nor what two others have between them', () => {
    const apart = { ...other, traffic_class: { ...other.traffic_class, from: ['client-2'] } };
    expect(check(mine, { ...context, others: [apart, { ...apart, name: 'mail' }] }).all).toEqual([]);
  });
});
