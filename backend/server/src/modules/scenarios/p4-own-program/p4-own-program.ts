import type { PacketTrace } from '@orrery/contract';
import { z } from 'zod';
import type { Api } from '../api-caller.js';
import { type Need, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { HOSTS, labSwitch, PROGRAM, ROUTES, SWITCH } from './lab.js';

const Parameters = z.object({
  packets_per_s: z.number().min(10).max(500).default(50).meta({ title: 'Probes', unit: 'probes/s' }),
  seconds: z
    .int()
    .min(1)
    .max(60)
    .default(5)
    .meta({ title: 'Duration', unit: 's', description: 'for which they are sent' }),
  traces: z.int().min(1).max(32).default(4).meta({ title: 'Traced packets', unit: 'packets' }),
});
type Parameters = z.output<typeof Parameters>;

const params = { id: SWITCH };
const PROBE = 'scenario-p4-probe';
/** As the twin needs to build a switch on a busy machine. */
const PATIENCE_S = 60;

/** A program of a user on a switch of the twin: upload, entries, packets, counters and traces. */
export const P4_OWN_PROGRAM = defineScenario({
  id: 'p4-own-program',
  title: 'A P4 program of one’s own on a switch',
  summary:
    'Uploads a router for IPv4, builds a P4 switch with two hosts beside the rack, gives it the program and two routes, sends probes, and compares what was sent with the counters of the routes and with traces of single packets.',
  source: '',
  duration_s: 25,
  role: 'admin',
  parameters: Parameters,
  needs: () => [runningTwin(), builtInSwitch(), freeNodes()],
  steps: (parameters) => [
    { title: 'Upload the program', run: upload },
    { title: 'Build a P4 switch with two hosts', run: build },
    { title: 'Add routes', run: addRoutes },
    { title: `Send ${parameters.packets_per_s} probes per second`, run: (stage) => send(stage, parameters) },
    { title: 'Compare', run: (stage) => compare(stage, parameters) },
  ],
});

function builtInSwitch(): Need {
  return {
    title: 'the built-in P4 switch',
    async missing(api) {
      const { items } = await api.call('listCapabilities');
      const found = items.find(({ id }) => id === 'p4-switch');
      return found?.available ? null : `the built-in P4 switch is not available: ${found?.detail ?? 'no twin says so'}`;
    },
  };
}

function freeNodes(): Need {
  const ids = [SWITCH, ...HOSTS.map(({ id }) => id)];
  return {
    title: `no node called ${ids.join(', ')}`,
    async missing(api) {
      const { switches, hosts, servers } = await api.call('getInfrastructure');
      const taken = [...switches, ...hosts, ...servers].filter(({ id }) => ids.includes(id));
      return taken.length > 0 ? `${taken.map(({ id }) => id).join(', ')} is there already: remove it` : null;
    },
  };
}

async function upload({ api, make, note }: Stage): Promise<void> {
  const { bmv2_json, p4info } = await api.call('downloadP4Program', { params: { id: 'ipv4-router' } });
  await make('p4-program', { name: PROGRAM, title: 'Scenario: router', bmv2_json, p4info });
  const { content } = await api.call('getP4Program', { params: { id: PROGRAM } });
  note(`tables ${content.tables.map(({ name }) => name).join(', ')}`);
}

async function build(stage: Stage): Promise<void> {
  await stage.make('lab-switch', labSwitch());
  const { hash } = await stage.api.call('getP4Program', { params: { id: PROGRAM } });
  await stage.until('the switch runs the program', PATIENCE_S, async () => {
    const { observed } = await stage.api.call('getSwitch', { params });
    if (observed?.state === 'failed') stage.note(observed.error ?? 'failed');
    if (observed?.state !== 'converged') return null;
    return (await readTables(stage.api))?.hash === hash ? true : null;
  });
}

async function addRoutes(stage: Stage): Promise<void> {
  await stage.api.call('putP4Entries', { params, body: { entries: ROUTES, default_actions: [], groups: [] } });
  await stage.until('the routes are installed', PATIENCE_S, async () => {
    const tables = await readTables(stage.api);
    return tables?.entries.length === ROUTES.length ? true : null;
  });
}

/** Null: the switch does not answer yet. */
const readTables = (api: Api) => api.call('readP4Tables', { params }).catch(() => null);

async function send(stage: Stage, { packets_per_s, seconds, traces }: Parameters): Promise<void> {
  const [left, right] = HOSTS;
  const echo = { id: 'scenario-p4-echo', kind: 'probe-server', node: right.id, enabled: true, config: {} };
  await stage.make('application', echo);
  await stage.until('the echo server runs', PATIENCE_S, async () => {
    const { status } = await stage.api.call('getApplication', { params: { id: echo.id } });
    return status.state === 'running' ? true : null;
  });
  await stage.api.call('armTraces', { params, body: { count: traces, port: left.port } });
  const config = { to: right.id, rate_per_s: packets_per_s, duration_s: seconds };
  await stage.make('application', { id: PROBE, kind: 'probe', node: left.id, enabled: true, config });
  await stage.until('the probes end', seconds + PATIENCE_S, async () => {
    const { status } = await stage.api.call('getApplication', { params: { id: PROBE } });
    return status.state === 'completed' ? true : null;
  });
}

async function compare({ api, figure, note }: Stage, { traces: wanted }: Parameters): Promise<void> {
  const { status } = await api.call('getApplication', { params: { id: PROBE } });
  const metric = (name: string) => status.metrics.find((one) => one.name === name)?.value ?? 0;
  const [sent, received] = [metric('sent'), metric('received')];
  const { entries } = await api.call('readP4Tables', { params });
  const base = { published: null, source: '', modelled: false } as const;
  figure({
    ...base,
    name: 'Probes that came back, of those sent',
    unit: 'ratio',
    here: sent > 0 ? received / sent : 0,
    bar: { least: 0.99, most: 1 },
    note: `${received} of ${sent}`,
  });
  for (const { match, packets } of entries) {
    const counted = packets ?? 0;
    figure({
      ...base,
      name: `Packets that the route ${match.dst_addr} counted, of those sent`,
      unit: 'ratio',
      here: sent > 0 ? counted / sent : 0,
      bar: { least: 0.99, most: 1.05 },
      note: `${counted} of ${sent}`,
    });
  }
  const { traces } = await api.call('listTraces', { params, query: { after: 0 } });
  const routed = traces.filter(isRouted);
  figure({
    ...base,
    name: 'Traced packets that hit a route and left by the other port',
    unit: 'count',
    here: routed.length,
    bar: { least: Math.min(wanted, sent), most: wanted },
    note: routed[0] ? pathOf(routed[0]) : 'no trace',
  });
  note(routed[0] ? pathOf(routed[0]) : 'no trace');
}

const isRouted = ({ steps }: PacketTrace) =>
  steps.some((one) => one.step === 'table_lookup' && one.table === 'Router.routes' && one.hit) &&
  steps.some((one) => one.step === 'sent' && one.port === HOSTS[1].port);

/** Where a packet came in, the tables and actions that it took, and where it left. */
function pathOf({ port, steps }: PacketTrace): string {
  const taken = steps.flatMap((one) => {
    if (one.step === 'table_lookup') return `table ${one.table} ${one.hit ? 'hit' : 'miss'}`;
    if (one.step === 'action_run') return one.action;
    return one.step === 'sent' ? `out at ${one.port}` : [];
  });
  return [`in at ${port}`, ...taken].join(', ').slice(0, 200);
}
