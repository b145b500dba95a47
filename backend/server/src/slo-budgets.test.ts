import { Event, type EventDraft, type SloStatus } from '@orrery/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SloAlerts } from './modules/slos/alerts/slo-alerts.js';
import { SloLedgers } from './modules/slos/ledger/slo-ledgers.js';
import { Collections } from './platform/durable-collection/collections.js';
import type { Log } from './platform/log.js';
import { KEYS } from './platform/redis-keys.js';
import { compareIds, type EventSource } from './ports/event-log.js';
import { monitorChain } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const log = { warn: () => undefined, error: () => undefined } as unknown as Log;
const definition = monitorChain('web');
const decide = () => undefined;
/** So that the server does not look at objectives while the test does, and its loop `slo` is paused. */
const SLOW = { env: { ORRERY_SLO_PERIOD_MS: '60000' } };

let server: TestServer;
let chainId: string;

beforeEach(async () => {
  server = await TestServer.start(SLOW);
  await server.api.call('pauseLoop', { params: { id: 'slo' } });
  // What the test counts by is a time of its own.
  const { redis } = server.running.store;
  await until('the server has stored its time', async () => (await redis.exists(KEYS.sloClock)) === 1);
  await redis.del(KEYS.sloClock);
  chainId = (await server.api.call('createChain', { body: definition })).id;
});
afterEach(() => server.stop());

/** What judges objectives in the server, on its real store, of a `world` that tests change; its plan is empty at first. */
async function judges() {
  const { store } = server.running;
  const collections = new Collections(store, log);
  const told: EventDraft[] = [];
  const events = { append: () => undefined, appendIn: (_: unknown, draft: EventDraft) => void told.push(draft) };
  const ledgers = new SloLedgers(collections, store, events, log);
  const world = { plan: null as unknown, isDeployed: true, isNotKept: false, log: [] as Event[], lost: [] as string[] };
  const between = (id: string, sinceId: string) =>
    world.log.filter((event) => compareIds(event.id, id) < 0 && compareIds(event.id, sinceId) > 0);
  const source: Pick<EventSource, 'after' | 'before'> = {
    after: async (id, limit) => between('18446744073709551615-0', id).slice(0, limit),
    before: async (id, sinceId, limit) => between(id, sinceId).slice(-limit),
  };
  const view = {
    get plan() {
      return world.plan;
    },
    deployment: () => (world.isDeployed ? {} : undefined),
  };
  const alerts = new SloAlerts(
    collections,
    events,
    source as never,
    { series: () => [] } as never,
    view as never,
    { current: { infrastructure: { links: [], switches: [] } } } as never,
    { troublesOf: () => [], carriage: () => null } as never,
    { isNotKept: () => world.isNotKept } as never,
    {
      get lost_servers() {
        return world.lost;
      },
    },
    { lostSwitches: new Set() },
    log,
  );
  await ledgers.onModuleInit();
  await alerts.onModuleInit();
  let clockMs = 0;
  const evaluate = (statuses: readonly SloStatus[], t_ms: number, of = definition, afterMs = 1000) => {
    clockMs += afterMs;
    const judged = ledgers.countSeconds(statuses, () => of, t_ms, clockMs);
    alerts.judge(ledgers, decide, t_ms, clockMs);
    return judged;
  };
  /** One second of each state, which ends at `t_ms`, so long after the last one. */
  const second = (state: SloStatus['state'], t_ms: number, of = definition, afterMs = 1000, origin = STATUS.origin) => {
    const status = { ...STATUS, chain_id: chainId, state, t_ms, origin } as SloStatus;
    return evaluate([status], t_ms, of, afterMs)[0]!;
  };
  const flush = (t_ms: number, afterMs = 0) => ledgers.flush(t_ms, clockMs + afterMs);
  return { world, ledgers, alerts, told, second, evaluate, flush };
}

const STATUS: Omit<SloStatus, 'chain_id' | 'state' | 't_ms'> = {
  slo_id: 'fast',
  kind: 'latency',
  target: 20_000,
  measured: 500,
  predicted: 400,
  band: null,
  error: 0.25,
  budget: null,
  offered: null,
  carried: null,
  unit: 'us',
  window_s: 10,
  packets: 5,
  origin: 'twin',
};

/** What stops stores nothing more, as if it were killed. */
async function restart(): Promise<void> {
  server.running.store.transact = () => Promise.reject(new Error('killed'));
  await server.pause();
  server = await TestServer.start(SLOW, server.scratch);
}

it('keeps history and open alerts over a server that is killed, and fires no alert twice', async () => {
  const nowMs = 10_000 * Math.floor(Date.now() / 10_000);
  const startMs = nowMs - 1_200_000;
  const first = await judges();
  expect(first.second('met', startMs).budget).toBeNull();
  await until('the objective is counted', () => first.ledgers.find(chainId, 'fast') !== undefined);
  for (let n = 1; n <= 900; n++) first.second('met', startMs + 1000 * n);
  for (let n = 901; n <= 1100; n++) first.second('violated', startMs + 1000 * n);
  await until('alerts are stored', () => first.alerts.all().length === 2);
  expect(first.told.filter(({ type }) => type === 'slo.alert-fired')).toHaveLength(2);
  await first.flush(startMs + 1_100_000);
  // These are lost with the server: it is killed before they are stored.
  for (let n = 1101; n <= 1105; n++) first.second('violated', startMs + 1000 * n);

  await restart();
  const { items: alerts } = await server.api.call('listSloAlerts', { query: { state: 'open' } });
  expect(alerts.map(({ rule, began_ms }) => [rule.long_s, began_ms])).toEqual([
    [3600, startMs + 900_000],
    [60, startMs + 900_000],
  ]);
  const params = { chain_id: chainId, slo_id: 'fast' };
  const history = await server.api.call('getSloHistory', { params, query: { from: startMs, to: nowMs, step: 300 } });
  const total = (of: 'good_s' | 'bad_s') => history.points.reduce((sum, point) => sum + point[of], 0);
  expect([total('good_s'), total('bad_s')]).toEqual([expect.closeTo(900, 3), expect.closeTo(200, 3)]);
  expect(history.points.at(-1)!.left_share).toBeCloseTo(1 - 200 / (0.01 * 30 * 86_400), 6);

  // Later than the server that was started meanwhile has stored the time.
  const second = await judges();
  second.second('violated', startMs + 1_250_000);
  for (let n = 1251; n <= 1260; n++) second.second('violated', startMs + 1000 * n);
  const budget = second.second('violated', startMs + 1_261_000).budget!;
  expect(budget).toMatchObject({ good_s: expect.closeTo(900, 3), bad_s: expect.closeTo(211, 3) });
  expect(budget.unknown_s).toBeCloseTo(150, 3);
  expect(second.alerts.all()).toHaveLength(2);
  for (let n = 1262; n <= 1340; n++) second.second('met', startMs + 1000 * n);
  await until('the brief alert is over', () => second.alerts.all().some(({ state }) => state === 'resolved'));
  expect(second.told.map(({ type }) => type)).toEqual(['slo.alert-resolved']);
});

it('begins anew with another target, keeps its seconds with another goal, and ends the alerts of an objective that is gone', async () => {
  const { second, ledgers, alerts, told, flush } = await judges();
  const startMs = Date.now() - 400_000;
  second('met', startMs);
  await until('the objective is counted', () => ledgers.find(chainId, 'fast') !== undefined);
  for (let n = 1; n <= 100; n++) second('violated', startMs + 1000 * n);
  await until('an alert is open', () => alerts.all().some(({ state }) => state === 'open'));

  const [slo] = definition.slos;
  const strict = { ...definition, slos: [{ ...slo!, goal: 0.999, period_s: 7200 }] };
  second('met', startMs + 101_000, strict);
  await until('the goal is taken', () => ledgers.find(chainId, 'fast')!.record.goal === 0.999);
  expect(second('met', startMs + 102_000, strict).budget).toMatchObject({
    goal: 0.999,
    period_s: 7200,
    bad_s: expect.closeTo(100, 3),
  });
  expect(told.filter(({ type }) => type === 'slo.budget-begun')).toEqual([]);

  const other = { ...strict, slos: [{ ...strict.slos[0]!, max_us: 1 }] as typeof strict.slos };
  second('met', startMs + 103_000, other);
  await until('the seconds are counted anew', () => ledgers.find(chainId, 'fast')!.record.since_ms > startMs + 1000);
  expect(told.filter(({ type }) => type === 'slo.budget-begun')).toHaveLength(1);
  expect(second('met', startMs + 104_000, other).budget).toMatchObject({ bad_s: 0, since_ms: startMs + 103_000 });
  await until('its alert is over', () => alerts.all().every(({ resolution }) => resolution === 'changed'));

  // Nothing is judged while its five minutes end.
  const slot = Math.ceil((startMs + 110_000) / 300_000);
  second('stale', 300_000 * slot + 170_000, other, 300_000 * slot + 170_000 - (startMs + 104_000));
  for (let n = 171; n <= 180; n++) second('violated', 300_000 * slot + 1000 * n, other);
  second('met', 300_000 * slot + 420_000, other, 240_000);
  await flush(300_000 * slot + 420_000);
  const stored = await server.running.store.redis.hgetall(KEYS.sloHistory(chainId, 'fast'));
  const coarse = Object.entries(stored).flatMap(([field, rows]) => (field.startsWith('c') ? JSON.parse(rows) : []));
  expect(coarse.find(([of]) => of === slot)?.slice(0, 3)).toEqual([slot, 0, 10]);
});

it('ends alerts that no rule watches any more or whose chain is undeployed, and fires them anew where it does again', async () => {
  const startMs = Date.now() - 200_000;
  // As many as are kept, but for one, were over before, later by the wall clock of then.
  const over = { state: 'resolved', resolution: 'calm', resolved_ms: 9e12, fired_ms: 8e12, began_ms: 7e12 };
  const figures = { burn_long: 20, burn_short: 20, left_share: 1, cause: null, place: null, acknowledged: null };
  const rule = { long_s: 60, short_s: 10, burn: 14.4, severity: 'warning' };
  const earlier = Array.from({ length: 999 }, (_, n) => {
    const value = { id: `alert-${n}`, chain_id: 'ch-other', slo_id: 'fast', rule, ...over, ...figures };
    return [value.id, JSON.stringify({ version: 1, revision: 2, added: 1, freed: n + 2, value })] as const;
  });
  await server.running.store.redis.hset(KEYS.sloAlerts, Object.fromEntries(earlier));
  const { world, ledgers, alerts, second, evaluate } = await judges();
  const own = () => alerts.all().filter(({ chain_id }) => chain_id === chainId);
  second('met', startMs);
  await until('the objective is counted', () => ledgers.find(chainId, 'fast') !== undefined);
  for (let n = 1; n <= 100; n++) second('violated', startMs + 1000 * n);
  await until('the brief alert is open', () => alerts.all().some(({ state }) => state === 'open'));
  expect(alerts.openNumbers()).toEqual(new Map([[`${chainId} fast`, { warning: 1 }]]));

  second('violated', startMs + 101_000, definition, 1000, 'live');
  await until('it is over', () => alerts.all().every(({ state }) => state === 'resolved'));
  expect(own().map(({ resolution }) => resolution)).toEqual(['changed']);
  second('violated', startMs + 102_000, definition, 1000, 'live');
  second('violated', startMs + 103_000);
  await until('it fires anew', () => alerts.all().some(({ state }) => state === 'open'));

  evaluate([], startMs + 104_000);
  world.isDeployed = false;
  // Healing has left it out: it is given up later.
  world.isNotKept = true;
  evaluate([], startMs + 104_500);
  await new Promise((done) => setImmediate(done));
  expect(alerts.openNumbers().size).toBe(1);
  world.isNotKept = false;
  evaluate([], startMs + 105_000);
  await until('it is over, too', () => alerts.all().every(({ state }) => state === 'resolved'));
  // What was over last is not the first to be forgotten.
  expect(own().map(({ resolution }) => resolution)).toEqual(['undeployed', 'changed']);
  expect(alerts.all()).toHaveLength(1000);
  expect(alerts.all().filter(({ id }) => id === 'alert-0')).toEqual([]);
  expect(alerts.openNumbers().size).toBe(0);
});

it('finds what failed under a chain that healing moved away, after the wall clock was set back an hour', async () => {
  const { world, ledgers, alerts, second } = await judges();
  const startMs = Date.now();
  const backMs = startMs - 3_600_000;
  const planOn = (server: string) => ({
    graph: { nodes: [{ kind: 'nf', id: 'web.ids.0', chain_id: chainId, node_id: 'ids', server, board: null }] },
    chains: [{ chain_id: chainId, definition }],
  });
  // Ids of a Redis Stream do not go back with the clock.
  const add = (t_ms: number, draft: EventDraft) => {
    const head = { id: `${startMs + 3000}-${world.log.length}`, t_ms, project: 'default', severity: 'info' };
    world.log.push(Event.parse({ ...head, actor: 'server', ...draft }));
  };
  world.plan = planOn('server-1');
  second('met', startMs);
  await until('the objective is counted', () => ledgers.find(chainId, 'fast') !== undefined);
  for (let n = 1; n <= 3; n++) second('met', startMs + 1000 * n);
  for (let n = 4; n <= 20; n++) second('met', backMs + 1000 * n);
  const away = { subject: 'server-1', message: 'server-1 is away', data: { origin: 'twin' as const, chains: [] } };
  add(backMs + 20_200, { type: 'node.disconnected', ...away });
  const lost = { subject: 'server-1', message: 'server-1 is lost', data: { instances: [], chains: [] } };
  add(backMs + 20_600, { type: 'healing.lost', ...lost });
  const data = { chain_id: chainId, plan_id: 'pn-1', chains: [chainId] };
  const moved = { subject: 'op-1', message: 'Deployment of Web', actor: 'healing', data };
  add(backMs + 20_700, { type: 'operation.started', ...moved });
  world.plan = planOn('server-2');
  for (let n = 21; n <= 40; n++) second('violated', backMs + 1000 * n);
  const [alert] = await until('the alert is stored', () => alerts.all().length > 0 && alerts.all());
  expect(alert).toMatchObject({
    began_ms: backMs + 20_000,
    cause: { kind: 'failure', id: 'server-1' },
    reactions: [{ kind: 'operation', id: 'op-1' }],
  });
});

it('finds the cause of an alert when the silent server of a part of the traffic is taken for lost, after that fired', async () => {
  const { world, ledgers, alerts, second } = await judges();
  const startMs = Date.now() - 100_000;
  const nodes = ['server-1', 'server-2'].map((server, n) => ({
    ...{ kind: 'nf', id: `web.ids.${n}`, chain_id: chainId, node_id: 'ids', server, board: null },
  }));
  world.plan = { graph: { nodes }, chains: [{ chain_id: chainId, definition }] };
  second('met', startMs);
  await until('the objective is counted', () => ledgers.find(chainId, 'fast') !== undefined);
  const t_ms = startMs + 12_000;
  const head = { id: `${t_ms}-0`, t_ms, project: 'default', severity: 'info', actor: 'server' };
  const away = { subject: 'server-2', message: 'server-2 is away', data: { origin: 'twin', chains: [] } };
  world.log.push(Event.parse({ ...head, type: 'node.disconnected', ...away }));
  for (let n = 1; n <= 30; n++) second(n <= 10 ? 'met' : 'violated', startMs + 1000 * n);
  await until('the alert is stored', () => alerts.all().length > 0);
  expect(alerts.all()).toMatchObject([{ state: 'open', cause: null }]);
  world.lost.push('server-9');
  second('violated', startMs + 31_000);
  world.lost.push('server-2');
  second('violated', startMs + 32_000);
  await until('it is explained', () => alerts.all()[0]?.cause);
  expect(alerts.all()).toMatchObject([{ state: 'open', cause: { kind: 'failure', id: 'server-2' } }]);
});

it('answers for objectives and alerts that are there, and removes them with their chain', async () => {
  const { second, ledgers, alerts, flush } = await judges();
  const startMs = Date.now() - 200_000;
  second('met', startMs);
  await until('the objective is counted', () => ledgers.find(chainId, 'fast') !== undefined);
  for (let n = 1; n <= 100; n++) second('violated', startMs + 1000 * n);
  await until('an alert is open', () => alerts.all().length > 0);
  await flush(startMs + 100_000);
  // The time, too, once in a minute where no second was counted.
  const time = () => server.running.store.redis.hget(KEYS.sloClock, 'wall_ms');
  await flush(startMs + 101_000, 1000);
  expect(await time()).toBe(String(startMs + 100_000));
  await flush(startMs + 160_000, 60_000);
  expect(await time()).toBe(String(startMs + 160_000));
  await restart();

  const params = { chain_id: chainId, slo_id: 'fast' };
  const refused = async (query: Record<string, unknown>) =>
    (await server.api.request('getSloHistory', { params, query: query as never })).body as {
      errors: { pointer: string; detail: string }[];
    };
  expect((await refused({ from: 5, to: 4 })).errors).toMatchObject([{ pointer: '/from' }]);
  const aMultiple = { pointer: '/step', detail: expect.stringContaining('must be a multiple of 300 s ') };
  expect((await refused({ from: 0, step: 10 })).errors).toMatchObject([aMultiple]);
  expect((await refused({ step: 15 })).errors).toMatchObject([{ pointer: '/step' }]);
  const mostPoints = expect.stringContaining('2000 points at most');
  expect((await refused({ from: 0 })).errors).toMatchObject([{ pointer: '/from', detail: mostPoints }]);
  expect((await refused({ from: 0, step: 300 })).errors).toMatchObject([{ pointer: '/from', detail: mostPoints }]);
  const least = { pointer: '/step', detail: expect.stringContaining('must be at least 600 s: ') };
  expect((await refused({ from: Date.now() - 7 * 86_400_000, step: 300 })).errors).toMatchObject([least]);
  for (const span of [3600, 21_600, 86_400]) {
    const { points } = await server.api.call('getSloHistory', { params, query: { span } });
    expect(points.length).toBeLessThanOrEqual(361);
    expect(points.length).toBeGreaterThan(40);
  }
  expect((await refused({ from: 0, span: 60 })).errors).toMatchObject([{ pointer: '/span' }]);
  const { to_ms, step_s, points } = await server.api.call('getSloHistory', { params, query: { span: 600 } });
  expect(step_s).toBe(10);
  expect(Math.abs(to_ms - Date.now())).toBeLessThan(60_000);
  expect(to_ms - 600_000 - points[0]!.t_ms).toBeGreaterThanOrEqual(0);
  expect(to_ms - 600_000 - points[0]!.t_ms).toBeLessThan(10_000);
  const nobody = await server.api.request('getSloHistory', { params: { ...params, slo_id: 'slow' } });
  expect(nobody.status).toBe(404);

  const [alert] = (await server.api.call('listSloAlerts')).items;
  const body = { note: 'a test' };
  const noted = await server.api.call('acknowledgeSloAlert', { params: { id: alert!.id }, body });
  expect(noted.acknowledged).toMatchObject({ note: 'a test', at_ms: expect.any(Number) });
  const { items: events } = await server.api.call('listEvents', { query: { type: 'slo.alert-acknowledged' } });
  expect(events).toMatchObject([{ subject: chainId, data: { alert_id: alert!.id, note: 'a test' } }]);

  await server.api.call('deleteChain', { params: { id: chainId } });
  await restart();
  const { redis } = server.running.store;
  const key = KEYS.sloHistory(chainId, 'fast');
  await until('its history is gone', async () => (await redis.exists(key)) === 0);
  await until('its alerts are gone', async () => (await server.api.call('listSloAlerts')).total === 0);
});
