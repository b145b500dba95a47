import type { Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { RunningForms } from './running-forms.js';

const planOf = (chains: Record<string, { version: number; core: number }>) =>
  ({
    chains: Object.entries(chains).map(([chain_id, { version }]) => ({ chain_id, version })),
    graph: {
      nodes: Object.entries(chains).map(([chain_id, { core }]) => ({
        kind: 'nf',
        id: `${chain_id}.nf`,
        chain_id,
        server: 's',
        core,
      })),
    },
  }) as unknown as Plan;

it('tells of which chains another version, instance or place runs, and of no others', () => {
  const forms = new RunningForms();
  const first = planOf({ a: { version: 1, core: 0 }, b: { version: 1, core: 1 } });
  expect(forms.follow(first)).toEqual(['a', 'b']);
  expect(forms.follow(first)).toEqual([]);
  expect(forms.follow(planOf({ a: { version: 1, core: 0 }, b: { version: 2, core: 1 } }))).toEqual(['b']);
  expect(forms.follow(planOf({ a: { version: 1, core: 2 }, b: { version: 2, core: 1 } }))).toEqual(['a']);
  expect(forms.follow(null)).toEqual([]);
  expect(forms.follow(first)).toEqual(['a', 'b']);
});

it('counts another schedule, or another place of a mirror, merge or queue, as something else that runs', () => {
  const forms = new RunningForms();
  const planned = (schedule: string, core: number) =>
    ({
      chains: [{ chain_id: 'a', version: 1, schedule }],
      graph: { nodes: [{ kind: 'merge', id: 'a.merge', chain_id: 'a', server: 's', core }] },
    }) as unknown as Plan;
  expect(forms.follow(planned('planned', 0))).toEqual(['a']);
  expect(forms.isMerge('a.merge')).toBe(true);
  expect(forms.follow(planned('planned', 0))).toEqual([]);
  expect(forms.follow(planned('planned', 1))).toEqual(['a']);
  expect(forms.follow(planned('round-robin', 1))).toEqual(['a']);
});
