import type { MigrateRequest } from '@orrery/contract';
import { describe, expect, it, vi } from 'vitest';
import { LostReply } from '../../ports/node-fleet.js';
import { type Answer, agents, all, migrationBench, portion } from '../../testing/migration-bench.js';

const QUIET = { ...portion, rows: 0 };
const lost = (node: string) => new LostReply(node, 'no answer in time');

/** Answers as `agents`; the first reply to `method` is lost after the agent has done what was asked, and then there are no flows. */
function losing(method: string, node: string, after: Answer = agents) {
  let done = false;
  let exports = 0;
  const answer: Answer = (asked, instance) => {
    if (asked === method && !done) {
      done = true;
      throw lost(node);
    }
    if (done) return asked === 'export_flows' ? QUIET : after(asked, instance);
    if (asked === 'export_flows') return exports++ === 0 ? portion : QUIET;
    return agents(asked, instance);
  };
  return { answer, isLost: () => done };
}
const away: Answer = () => {
  throw new Error('The agent of s1 is not connected.');
};

describe('a move of flows of which a reply is lost', () => {
  it('while flows are removed is finished by another attempt, and says that more may have moved', async () => {
    const none: Answer = (method, instance) =>
      method === 'release_flows' ? { released: 0, kept: 0 } : agents(method, instance);
    const { answer } = losing('release_flows', 's1', none);
    const { migrations, stored, events } = migrationBench(answer);
    const { id } = await migrations.begin('p.nat.0', all('p.nat.1', { release: true }), 'me');
    await vi.waitFor(() => expect(stored.get(id)!.state).toBe('COMPLETED'), 10_000);
    expect(stored.get(id)!.migration).toMatchObject({ copied: portion.rows, released: 0, at_least: true });
    expect(events.map(({ message }) => message)).toContainEqual(
      expect.stringContaining(`Move of at least ${portion.rows} flows`),
    );
  });

  it('while flows are steered is finished by another attempt, and says that more may have moved', async () => {
    const none: Answer = (method, instance) =>
      method === 'end_hold' ? { flows: 0, packets: 0, table_full: false } : agents(method, instance);
    const { answer } = losing('end_hold', 's1', none);
    const { migrations, stored } = migrationBench(answer);
    const { id } = await migrations.begin('p.mon.0', all('p.mon.1', { steer: true }), 'me');
    await vi.waitFor(() => expect(stored.get(id)!.state).toBe('COMPLETED'), 10_000);
    expect(stored.get(id)!.migration).toMatchObject({ steered: 0, at_least: true });
  });

  it.each<[string, string, Partial<MigrateRequest>, string]>([
    ['release_flows', 'p.nat', { release: true }, 'flows may be in p.nat.1 alone: a reply of s1 was lost'],
    ['end_hold', 'p.mon', { steer: true }, 'flows may go to p.mon.1 by now'],
  ])(
    'to %s and that is given up then does not say that all flows are where they were',
    async (method, nf, request, words) => {
      const { answer, isLost } = losing(method, 's1', away);
      const { migrations, stored } = migrationBench(answer);
      const { id } = await migrations.begin(`${nf}.0`, all(`${nf}.1`, request), 'me');
      await vi.waitFor(() => expect(isLost()).toBe(true), 10_000);
      await migrations.cancel(id, 'you');
      const { state, error, migration } = stored.get(id)!;
      expect(state).toBe('PARTIALLY_COMPLETED');
      expect(error!.detail).toContain(words);
      expect(error!.detail).toContain('Move them again to be sure');
      expect(error!.detail).not.toContain('has all flows');
      expect(migration).toMatchObject({ at_least: true });
    },
  );

  it('while flows are copied counts what is certain, and says so if it is given up', async () => {
    const { answer, isLost } = losing('import_state', 's2', away);
    const { migrations, stored } = migrationBench(answer);
    const { id } = await migrations.begin('p.nat.0', all('p.nat.1', { release: true }), 'me');
    await vi.waitFor(() => expect(isLost()).toBe(true), 10_000);
    await migrations.cancel(id, 'you');
    const { state, error, migration } = stored.get(id)!;
    // A copy changes nothing where flows are.
    expect(state).toBe('ROLLED_BACK');
    expect(error!.detail).toContain('p.nat.0 has all flows');
    expect(error!.detail).toContain('copies of more flows than are counted may be in p.nat.1: a reply of s2 was lost');
    expect(migration).toMatchObject({ copied: 0, at_least: true });
  });

  it('while flows are copied says of a later attempt that more may have been copied', async () => {
    const { answer } = losing('import_state', 's2');
    const { migrations, stored, events } = migrationBench(answer);
    const { id } = await migrations.begin('p.nat.0', all('p.nat.1', {}), 'me');
    await vi.waitFor(() => expect(stored.get(id)!.state).toBe('COMPLETED'), 10_000);
    expect(stored.get(id)!.migration).toMatchObject({ copied: 0, at_least: true });
    expect(events.map(({ message }) => message)).toContainEqual(expect.stringContaining('Move of at least 0 flows'));
  });

  it('again and again is given up', async () => {
    let replies = 0;
    const { migrations, stored } = migrationBench((method, instance) => {
      if (method === 'export_flows') return QUIET;
      if (method !== 'end_hold') return agents(method, instance);
      replies++;
      throw lost('s1');
    });
    const { id } = await migrations.begin('p.mon.0', all('p.mon.1', { steer: true }), 'me');
    await vi.waitFor(() => expect(stored.get(id)!.state).toBe('FAILED'), 10_000);
    expect(replies).toBeGreaterThan(1);
    expect(stored.get(id)!.error!.detail).toContain('flows may go to p.mon.1 by now');
  });

  it('while a later portion is copied is given up, although the first one is copied each time', async () => {
    let nowMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 3000));
    try {
      let portions = 0;
      const { migrations, stored } = migrationBench((method, instance) => {
        if (method === 'export_flows') return { ...portion, last: ++portions % 2 === 0 };
        if (method === 'import_state' && portions % 2 === 0) throw lost('s2');
        return agents(method, instance);
      });
      const { id } = await migrations.begin('p.nat.0', all('p.nat.1'), 'me');
      await vi.waitFor(() => expect(stored.get(id)!.state).toBe('FAILED'), 10_000);
      expect(portions).toBeGreaterThanOrEqual(10);
      expect(stored.get(id)!.error!.detail).toContain('p.nat.0 has all flows');
      expect(stored.get(id)!.migration).toMatchObject({ copied: portion.rows, at_least: true });
    } finally {
      clock.mockRestore();
    }
  });

  it('by no means means that what an agent refused is in doubt', async () => {
    const { migrations, stored } = migrationBench((method, instance) => {
      if (method === 'export_flows') return QUIET;
      if (method === 'end_hold')
        throw new Error('s1: the packets have waited for too long and went on where they were');
      return agents(method, instance);
    });
    const { id } = await migrations.begin('p.mon.0', all('p.mon.1', { steer: true }), 'me');
    await vi.waitFor(() => expect(stored.get(id)!.state).toBe('FAILED'), 10_000);
    expect(stored.get(id)!.error!.detail).toContain('p.mon.0 has all flows');
    expect(stored.get(id)!.migration).not.toHaveProperty('at_least');
  });
});
