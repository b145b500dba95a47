import { describe, expect, it } from 'vitest';
import { deployQuestion } from './deploy-question.js';

const diff = (moved: string[]) => ({ added: ['a'], removed: ['b'], moved, reconfigured: ['c'], kept: ['d'] });
const migration = (id: string) => ({ from: id, from_server: 'server-1', to: `${id}-2`, to_server: 'server-2' });
const step = (...interrupts: string[]) => ({
  ordinal: 0,
  kind: 'steer-fabric' as const,
  subject: 'fabric',
  summary: '1 rule written',
  interrupts,
});
const request = { chains: [{ chain_id: 'ch-1' }], remove: ['ch-2'] };
const ask = (
  moved: string[],
  migrations: ReturnType<typeof migration>[] = [],
  steps: ReturnType<typeof step>[] = [step('ch-1', 'ch-2')],
) => deployQuestion({ diff: diff(moved), migrations, problems: [], steps, request }, (id) => `Title of ${id}`);

describe('what is asked before a plan is deployed', () => {
  it('is nothing where it moves nothing and interrupts only the chains that are to change', () => {
    expect(ask([], [migration('web.fw.0')])).toBeNull();
  });

  it('names the instances that move and what becomes of their flow state', () => {
    const one = ask(['web.fw.0-2'], [migration('web.fw.0')]);
    expect(one?.message).toContain('One running instance moves to another core or server: web.fw.0-2.');
    expect(one?.message).toContain('flow state is copied');
    const many = ask(['a', 'b', 'c', 'd', 'e']);
    expect(many?.message).toContain('5 running instances move to another core or server: a, b, c and 2 more.');
    expect(many?.message).toContain('there is none');
  });

  it('names the flow state that is lost, and no other warning', () => {
    const warning = { chain_id: 'ch-1', severity: 'warning' as const, pointer: '/nodes/1' };
    const problems = [
      { ...warning, code: 'bad-objective' as const, message: 'out of reach' },
      { ...warning, code: 'flow-state-lost' as const, message: 'the flow state in web.fw.1 is lost' },
    ];
    const rest = { migrations: [], steps: [], request };
    expect(deployQuestion({ ...rest, diff: diff([]), problems }, (id) => id)).toEqual({
      title: 'Lose flow state?',
      message: 'Flow state does not follow its flows: the flow state in web.fw.1 is lost.',
      confirm: 'Deploy without it',
    });
    expect(deployQuestion({ ...rest, diff: diff(['a']), problems }, (id) => id)).toMatchObject({
      title: 'Move what runs?',
      message: expect.stringMatching(/^(?!.*there is none).*web\.fw\.1 is lost/),
    });
    expect(deployQuestion({ ...rest, diff: diff([]), problems: problems.slice(0, 1) }, (id) => id)).toBeNull();
  });

  it('names the other chains that are interrupted, once each', () => {
    const steps = [step('ch-1', 'ch-3'), step('ch-3', 'ch-4')];
    expect(ask([], [], steps)).toEqual({
      title: 'Interrupt other chains?',
      message: 'Packets of Title of ch-3, Title of ch-4 may be lost or delayed.',
      confirm: 'Interrupt and deploy',
    });
    expect(ask(['a'], [], steps)).toMatchObject({
      title: 'Move what runs?',
      message: expect.stringContaining('Title of ch-3, Title of ch-4'),
    });
  });
});
