import type { MigrateRequest } from '@orrery/contract';
import { describe, expect, it, vi } from 'vitest';
import type { ProblemError } from '../../platform/problem.js';
import { type Answer, agents, all, migrationBench, portion } from '../../testing/migration-bench.js';

describe('an operation that moves flows', () => {
  it('is one at a time for an instance, also when two are asked for at once', async () => {
    const { migrations } = migrationBench(agents);
    const both = await Promise.allSettled(
      ['p.nat.1', 'p.nat.2'].map((to) => migrations.begin('p.nat.0', all(to), 'me')),
    );
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect((both[1] as PromiseRejectedResult).reason).toMatchObject({ status: 409 });
    await migrations.onModuleDestroy();
  });

  it('is refused by name', async () => {
    const { migrations, stored } = migrationBench(agents);
    const refusal = (from: string, request: MigrateRequest) =>
      migrations.begin(from, request, 'me').then(
        () => 'accepted',
        ({ status, errors }: ProblemError) => `${status} ${errors[0]?.pointer ?? ''}`.trim(),
      );
    expect(await refusal('p.nat.9', all('p.nat.1'))).toBe('404');
    expect(await refusal('p.nat.0', all('p.nat.9'))).toBe('422 /to');
    expect(await refusal('p.nat.0', all('p.nat.0'))).toBe('422 /to');
    expect(await refusal('p.nat.0', all('p.fw.0'))).toBe('422 /to');
    expect(await refusal('p.nat.0', all('p.nat.board-0'))).toBe('409');
    expect(await refusal('p.fw.0', all('p.fw.1'))).toBe('409');
    expect(await refusal('p.proxy.0', all('p.proxy.1'))).toBe('409');
    expect(await refusal('p.nat.0', all('p.nat.1', { steer: true }))).toBe('409 /steer');
    const term = { field: 'port.dst', lo: 1, hi: 2, not: false } as const;
    expect(await refusal('p.nat.0', all('p.nat.1', { flows: { match: [term] } }))).toBe('422 /flows/match/0/field');
    const hash = { key: ['ip.src', 'ip.dst'] as ('ip.src' | 'ip.dst')[], lo: 0, hi: 9 };
    expect(await refusal('p.nat.0', all('p.nat.1', { flows: { match: [], hash } }))).toBe('422 /flows/hash/key/1');
    expect(stored.size).toBe(0);
  });

  it('is counted before it begins, and changes nothing', async () => {
    const asked: string[] = [];
    const { migrations, stored } = migrationBench((method, instance) => {
      asked.push(`${method} ${instance}`);
      return { ...portion, last: asked.length === 2 };
    });
    expect(await migrations.preview('p.nat.0', all('p.nat.1'))).toEqual({ flows: 14, bytes: 16, complete: true });
    expect(asked).toEqual(['export_flows p.nat.0', 'export_flows p.nat.0']);
    await expect(migrations.preview('p.nat.0', all('p.fw.0'))).rejects.toMatchObject({ status: 422 });
    expect(stored.size).toBe(0);
  });

  it('completes with an event that says which flows, how many bytes and how long', async () => {
    let exports = 0;
    const { migrations, events, stored } = migrationBench((method, instance) =>
      method === 'export_flows' && ++exports > 1 ? { ...portion, rows: 0 } : agents(method, instance),
    );
    const { id } = await migrations.begin('p.nat.0', all('p.nat.2'), 'me');
    await vi.waitFor(() => expect(stored.get(id)!.state).toBe('COMPLETED'));
    expect(stored.get(id)).toMatchObject({ kind: 'migrate', migration: { copied: 7, released: 0, left_out: 0 } });
    expect(stored.get(id)!.steps.map(({ state }) => state)).toEqual(['done', 'done']);
    expect(events.map(({ type }) => type)).toEqual(['operation.started', 'instance.migrated', 'operation.completed']);
    expect(events[1]).toMatchObject({
      subject: 'p.nat.2',
      data: { from: 'p.nat.0', to: 'p.nat.2', when: 'asked', entries: 7, flows: { match: [] }, bytes: 16, released: 0 },
    });
  });

  it('is cancelled, and nothing is released', async () => {
    const { migrations, events, stored } = migrationBench(agents);
    const { id } = await migrations.begin('p.nat.0', all('p.nat.1', { release: true }), 'me');
    await expect(migrations.begin('p.nat.1', all('p.nat.2'), 'me')).rejects.toMatchObject({ status: 409 });
    expect(await migrations.cancel(id, 'you')).toMatchObject({ state: 'ROLLED_BACK', cancelled_by: 'you' });
    expect(stored.get(id)!.migration!.released).toBe(0);
    expect(events.at(-1)!.type).toBe('operation.rolled-back');
    await expect(migrations.cancel(id, 'you')).rejects.toMatchObject({ status: 409 });
    expect(await migrations.cancel('other', 'you')).toBeNull();
  });

  it('begins anew after an agent that failed, and with the next server', async () => {
    let failures = 1;
    const flaky: Answer = (method, instance) => {
      if (method === 'import_state' && failures-- > 0) throw new Error('s2: the agent disconnected');
      return agents(method, instance);
    };
    const { migrations, stored } = migrationBench(flaky);
    const { id } = await migrations.begin('p.nat.0', all('p.nat.1', { release: true }), 'me');
    await vi.waitFor(() => expect(stored.get(id)!.steps[0]!.state).not.toBe('pending'), 5000);
    await migrations.onModuleDestroy();
    expect(stored.get(id)!.state).toBe('PROCESSING');

    let exports = 0;
    const next = migrationBench(
      (method, instance) => {
        if (method === 'export_flows') exports++;
        return method === 'export_flows' && exports === 2 ? { ...portion, rows: 0 } : agents(method, instance);
      },
      new Map([[id, { ...stored.get(id)!, migration: { ...stored.get(id)!.migration!, release: false } }]]),
    );
    await next.migrations.onApplicationBootstrap();
    await vi.waitFor(() => expect(next.stored.get(id)!.state).toBe('COMPLETED'));
  });

  describe('that a server left in the middle', () => {
    /** As an earlier server recorded it. */
    async function left(over: Partial<MigrateRequest>, step: string, counts: object) {
      const { migrations, stored } = migrationBench(agents);
      const { id } = await migrations.begin('p.nat.0', all('p.nat.1', { release: true, ...over }), 'me');
      await migrations.onModuleDestroy();
      const operation = stored.get(id)!;
      const at = operation.steps.findIndex(({ kind }) => kind === step);
      const steps = operation.steps.map((each, i) => ({
        ...each,
        state: i < at ? ('done' as const) : i === at ? ('running' as const) : ('pending' as const),
      }));
      const migration = { ...operation.migration!, ...counts };
      return { id, stored: new Map([[id, { ...operation, state: 'PROCESSING' as const, steps, migration }]]) };
    }

    it('goes on with the next one, and counts what was done before', async () => {
      const { id, stored } = await left({}, 'release-flows', { copied: 9, bytes: 20, released: 4 });
      let exports = 0;
      const released: string[] = [];
      // What was released is not there any more; the rest is copied, followed while nobody uses it, and released.
      const next = migrationBench((method, instance) => {
        if (method === 'release_flows') released.push(instance);
        if (method !== 'export_flows')
          return method === 'release_flows' ? { released: 5, kept: 0 } : agents(method, instance);
        exports++;
        return { ...portion, rows: exports === 1 ? 5 : 0 };
      }, stored);
      await next.migrations.onApplicationBootstrap();
      await vi.waitFor(() => expect(next.stored.get(id)!.state).toBe('COMPLETED'), 10_000);
      expect(next.stored.get(id)!.migration).toMatchObject({ copied: 9, released: 9 });
      expect(released).toEqual(['p.nat.0']);
      await next.migrations.onApplicationBootstrap();
      expect(next.stored.get(id)!.state).toBe('COMPLETED');
      await next.migrations.onModuleDestroy();
    });

    it.each([
      ['release-flows', { released: 4 }, 'PARTIALLY_COMPLETED', '4 flows are in p.nat.1 alone, at least'],
      ['release-flows', {}, 'PARTIALLY_COMPLETED', 'flows may be in p.nat.1 alone'],
      ['follow-flows', {}, 'ROLLED_BACK', 'p.nat.0 has all flows'],
    ])('in the step %s says where flows are when it is given up', async (step, counts, state, words) => {
      const { id, stored } = await left({}, step, counts);
      const next = migrationBench(() => {
        throw new Error('s1: no agent is connected');
      }, stored);
      await next.migrations.onApplicationBootstrap();
      await next.migrations.cancel(id, 'you');
      expect(next.stored.get(id)).toMatchObject({ state, error: { detail: expect.stringContaining(words) } });
    });
  });
});
