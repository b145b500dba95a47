import { expect, test } from '../support/orrery.js';

/** An IDS with two outputs, to `mon` and a firewall; `slos` and `class_slos` vary from case to case. */
const forked = (rest: Record<string, unknown> = {}, mon = 'monitor') => ({
  name: 'planned',
  title: 'Planned',
  description: '',
  traffic_class: {
    from: ['client-1'],
    match: [{ attribute: 'port.dst', op: 'is', value: 4242 }],
    rate_bps: 10_000_000,
    packet_bytes: 800,
  },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'ids', kind: 'nf', nf: 'ids', config: {} },
    { id: 'mon', kind: 'nf', nf: mon, config: {} },
    { id: 'fw', kind: 'nf', nf: 'firewall', config: {} },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'all', from: 'in', to: 'ids', filter: [] },
    { id: 'safe', from: 'ids', to: 'mon', filter: [{ attribute: 'ids.verdict', op: 'is', value: 'safe' }] },
    { id: 'unsafe', from: 'ids', to: 'fw', filter: [{ attribute: 'ids.verdict', op: 'is-not', value: 'safe' }] },
    { id: 'seen', from: 'mon', to: 'out', filter: [] },
    { id: 'checked', from: 'fw', to: 'out', filter: [] },
  ],
  slos: [],
  ...rest,
});

test('a plan states its quality, and a certificate proves it', async ({ api }) => {
  const class_slos = [{ id: 'share', kind: 'cpu-time', a: 'safe', b: 'unsafe', ratio: 1.2 }];
  // A class that is held back behind the IDS loses what it costs there and no more. With a monitor that is too little for the
  // ratio, whose parts are nearly all the IDS's then.
  const chain = await api.ok('POST', '/chains', forked({ class_slos }, 'sqli-detector'));
  const plan = await api.ok('POST', '/plans', { chains: [{ chain_id: chain.id }] });
  expect(plan.feasible).toBe(true);
  const parts = (it: { quality: { part: string }[] }) => it.quality.map(({ part }) => part);
  expect(new Set(parts(plan))).toEqual(new Set(['placement', 'chaining', 'parallelization', 'scheduling']));
  expect(plan.schedules.find((it: { chain_id: string }) => it.chain_id === chain.id).objectives).toEqual([
    expect.objectContaining({ slo_id: 'share', wanted: 1.2, met: true }),
  ]);
  const certificate = await api.ok('POST', `/plans/${plan.id}/certificate`, { time_limit_s: 2 });
  expect(parts(certificate)).toEqual(parts(plan));
  certificate.quality.forEach((it: { bound: number; value: number }, i: number) => {
    expect(it.value).toBe(plan.quality[i].value);
    expect(it.bound).toBeGreaterThanOrEqual(plan.quality[i].bound);
    expect(it.bound).toBeLessThanOrEqual(it.value * (1 + 1e-9));
  });
  await api.ok('DELETE', `/chains/${chain.id}`);
});

test('every strategy can be requested, and an unknown one is refused by name', async ({ api }) => {
  const chain = await api.ok('POST', '/chains', forked());
  const chains = [{ chain_id: chain.id }];
  const options = {
    strategy: ['e2', 'packing', 'first-fit-decreasing', 'first-fit', 'random'],
    chaining: ['hyper', 'stratos', 'function-only', 'random'],
    parallelization: ['orrery', 'fewest-bins', 'first-fit', 'overload-and-remove', 'genetic', 'parabox', 'sequential'],
    scheduling: ['alpine', 'semi-manual', 'manual', 'run-to-completion'],
    scheduling_mode: ['constrained', 'free'],
  };
  for (const [option, values] of Object.entries(options)) {
    for (const value of values) {
      const plan = await api.ok('POST', '/plans', { chains, [option]: value });
      expect([plan.feasible, plan[option]]).toEqual([true, value]);
    }
    const refused = await api.call('POST', '/plans', { chains, [option]: 'magic' });
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, `/${option}`]);
  }
  await api.ok('DELETE', `/chains/${chain.id}`);
});

test('an objective that cannot be met is reported at its field, with what is available', async ({ api }) => {
  const slos = [{ id: 'fast', kind: 'latency', percentile: 99, max_us: 0.1 }];
  const chain = await api.ok('POST', '/chains', forked({ slos }));
  const plan = await api.ok('POST', '/plans', { chains: [{ chain_id: chain.id }] });
  const own = (it: { chain_id: string }) => it.chain_id === chain.id;
  expect(plan.problems.filter(own)).toEqual([
    expect.objectContaining({ code: 'bad-objective', severity: 'warning', pointer: '/slos/0/max_us' }),
  ]);
  expect(plan.slos.find(own).constraint).toMatchObject({ constraint: 'latency', available: 0.1, unit: 'us' });
  await api.ok('DELETE', `/chains/${chain.id}`);
});

test('contradictory objectives between classes are not planned', async ({ api }) => {
  const class_slos = [
    { id: 'one', kind: 'cpu-time', a: 'safe', b: 'unsafe', ratio: 2 },
    { id: 'two', kind: 'cpu-time', a: 'seen', b: 'checked', ratio: 3 },
  ];
  const chain = await api.ok('POST', '/chains', forked({ class_slos }));
  const plan = await api.ok('POST', '/plans', { chains: [{ chain_id: chain.id }] });
  expect(plan.feasible).toBe(false);
  expect(plan.problems).toContainEqual(
    expect.objectContaining({ code: 'bad-objective', pointer: '/class_slos/1/ratio', chain_id: chain.id }),
  );
  const refused = await api.call('POST', `/plans/${plan.id}/certificate`, {});
  expect(refused.status).toBe(409);
  await api.ok('DELETE', `/chains/${chain.id}`);
});
