import { NfDescriptor } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { check } from './problems.js';
import { instantiate, TEMPLATES } from './templates.js';

const shipped = import.meta.glob('../../../agents/nfs/*/descriptor.json', { eager: true, import: 'default' });
const descriptors = Object.values(shipped).map((each) => NfDescriptor.parse(each));
const hosts = ['client-1', 'client-2', 'server-1', 'server-2'].map((id) => ({ id }));

describe('templates', () => {
  it.each(TEMPLATES.filter((each) => each.id !== 'empty').map((each) => [each.id, each] as const))(
    '%s has no problem with the NFs that ship',
    (_, template) => {
      const { all } = check(template.definition, { descriptors, hosts });
      expect(all.filter((problem) => problem.severity === 'error')).toEqual([]);
    },
  );

  it('would find a problem if there were one', () => {
    const broken = structuredClone(TEMPLATES.find((each) => each.id === 'linear')!.definition);
    broken.nodes[1] = { id: 'firewall', kind: 'nf', nf: 'no-such-nf', config: {} };
    expect(check(broken, { descriptors, hosts }).byNode.get('firewall')).toMatchObject([{ code: 'unknown-nf' }]);
  });

  it('become chains under a free name', () => {
    const { definition } = TEMPLATES[1]!;
    const chain = instantiate(definition, 'Web guard', new Set(['web-guard']));
    expect(chain).toMatchObject({ name: 'web-guard-2', title: 'Web guard' });
    expect(definition.name).toBe('e2-figure-3-1');
  });
});
