import { NfDescriptor } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { check } from './problems.js';
import { fromFreeHost, instantiate, TEMPLATES } from './templates.js';

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

describe('the host of a new chain', () => {
  const host = (id: string, role: 'client' | 'server' = 'client') => ({ id, role });
  const empty = TEMPLATES[0]!.definition;
  const taking = (...from: string[]) => [{ ...empty, traffic_class: { ...empty.traffic_class, from } }];
  const hosts = [host('www', 'server'), host('client-1'), host('client-2'), host('client-3')];
  const chosen = (others: typeof hosts, taken: string[]) =>
    fromFreeHost(empty, others, taking(...taken)).traffic_class.from;

  it('is that of the template, or the first client whose traffic no chain takes', () => {
    expect(chosen(hosts, [])).toEqual(['client-1']);
    expect(chosen(hosts, ['client-1', 'client-2'])).toEqual(['client-3']);
  });

  it('stays where no client is free', () => {
    expect(chosen(hosts, ['client-1', 'client-2', 'client-3'])).toEqual(['client-1']);
  });
});
