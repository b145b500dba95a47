import type { Operation, SwitchDriver } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isOver } from './ports/operation-log.js';
import { monitorChain } from './testing/fixtures.js';
import { KilledSite } from './testing/killed-site.js';
import { until } from './testing/wait.js';

let site: KilledSite;
beforeEach(async () => {
  // A switch that is built anew is never late here: what is tested is what a kill leaves.
  site = await KilledSite.start({ ORRERY_STEP_TIMEOUT_MS: '60000' });
});
afterEach(() => site.stop());

const json = JSON.stringify;
/** A server is started for each kill: several times what a quiet machine needs. */
const LIMIT_MS = 400_000;

describe('another driver of a switch, while kills of the server interrupt', () => {
  const operations = async (): Promise<Operation[]> =>
    (await site.api.call('listOperations', { query: { limit: 1000 } })).items;
  const leaf = () => site.switches[0]!;
  const driverNow = async () => (await site.api.call('getInfrastructure')).switches[0]!.driver;

  /** The twin builds the switch anew as it was told, unless the server that its agent would connect to is down. */
  async function twinFollows(): Promise<void> {
    const told = site.scratch.toldTwin('PUT /spec').at(-1)?.body.infrastructure?.switches[0]?.driver;
    if (told === undefined || told === leaf().driver || site.isDown) return;
    await Promise.race([leaf().rebuild(told), until('the server is down', () => site.isDown)]);
  }
  const isIdle = async () => {
    await twinFollows();
    return (await operations()).every(isOver);
  };

  it('before or after a step comes about once, or not at all', { timeout: LIMIT_MS }, async () => {
    await site.bringUp();
    const { id } = await site.api.call('createChain', { body: monitorChain('a') });
    await site.api.call('createDeployment', { body: { chain_id: id } });
    await until('the chain runs', isIdle);
    const { rules } = leaf();
    let reached = true;
    let step = 1;
    // Before the first, after the third, before the fifth, and so on: of two moments between steps, one.
    for (; reached; step += 2) {
      const when = step % 4 === 1 ? 'before' : 'after';
      const from = await driverNow();
      const to: SwitchDriver = from === 'ovs' ? 'p4' : 'ovs';
      const known = new Set((await operations()).map((operation) => operation.id));
      const kill = await site.killedAt(
        { step, when },
        async (api) => {
          const body = json({ switch_drivers: [{ switch: leaf().node, driver: to }] });
          const planned = await api.request('createPlan', { body });
          if (planned.status !== 201) return planned;
          return api.request('createDeployment', { body: json({ plan_id: (planned.body as { id: string }).id }) });
        },
        isIdle,
      );
      await until('every operation ends', isIdle);
      const made = (await operations()).filter((operation) => !known.has(operation.id));
      expect(made.length, `${when} step ${step}`).toBeLessThanOrEqual(1);
      if (kill.answer?.status === 202) expect(made).toHaveLength(1);
      expect(made.map(({ state }) => state)).toEqual(made.map(() => 'COMPLETED'));
      const now = made.length === 1 ? to : from;
      expect([await driverNow(), leaf().driver], `${when} step ${step}`).toEqual([now, now]);
      expect(leaf().rules).toEqual(rules);
      const changes = await site.eventsOf('infrastructure.changed');
      expect(changes.map(({ data }) => data.revision)).toEqual(changes.map((_, i) => i + 1));
      expect(site.contradictions).toEqual([]);
      reached = kill.reached;
    }
    expect(step).toBeGreaterThan(5);
  });
});
