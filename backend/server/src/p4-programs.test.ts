import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Infrastructure, type P4Entries, type P4Reading, Problem } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KEYS } from './platform/redis-keys.js';
import type { ApiClient } from './testing/client.js';
import { monitorChain, NAT_CHAIN, RACK } from './testing/fixtures.js';
import { TestServer } from './testing/server.js';
import { until } from './testing/wait.js';

const EXAMPLES = resolve(import.meta.dirname, '../../../twin/p4/examples');
const read = (file: string) => readFileSync(resolve(EXAMPLES, file), 'utf8');
const UPLOAD = {
  name: 'mine',
  title: 'A router of mine',
  bmv2_json: read('ipv4-router.json'),
  p4info: read('ipv4-router.p4info.txtpb'),
};

/** The rack, and a switch `lab` with two hosts of its own, which runs a program. */
function rackWith(program: string | undefined, of = 'lab', driver: 'p4' | 'bmv2' | 'ovs' = 'p4'): Infrastructure {
  const host = (n: number) => ({
    id: `lab-${n}`,
    origin: 'twin' as const,
    role: 'client' as const,
    addresses: [{ address: `10.9.0.${n}` }],
    mac: `02:00:0a:09:00:0${n}`,
  });
  const lab = {
    id: 'lab',
    origin: 'twin' as const,
    driver: 'ovs' as const,
    ports: 8,
    table_entries: 1024,
    actions: [],
  };
  const link = (n: number) => ({
    id: `lab-${n}-lab`,
    a: { node: `lab-${n}`, port: 'eth0' },
    b: { node: 'lab', port: `p${n}` },
    bandwidth_bps: 1e8,
  });
  return Infrastructure.parse({
    ...RACK,
    switches: [...RACK.switches, lab].map((one) => (one.id === of && program ? { ...one, driver, program } : one)),
    hosts: [...RACK.hosts, host(1), host(2)],
    links: [...RACK.links, link(1), link(2)],
  });
}

const route = (n: number) => ({
  table: 'routes',
  match: { dst_addr: `10.9.0.${n}/32` },
  action: 'forward',
  params: { next_hop: `02:00:0a:09:00:0${n}`, port: `p${n}` },
});
const entriesOf = (...numbers: number[]): P4Entries => ({
  entries: numbers.map(route),
  default_actions: [],
  groups: [],
});

let server: TestServer;
let api: ApiClient;
beforeEach(async () => {
  server = await TestServer.start({ twin: true });
  ({ api } = server);
});
afterEach(() => server.stop());

async function refusal(
  answer: Promise<{ status: number; body: unknown }>,
): Promise<{ status: number; problem: Problem }> {
  const { status, body } = await answer;
  return { status, problem: Problem.parse(body) };
}
const put = (body: Infrastructure) => api.request('putInfrastructure', { body: JSON.stringify(body) });
const lab = { params: { id: 'lab' } };
const told = () => server.switches.get('lab')!.spec;

describe('P4 programs', () => {
  it('are examples and uploads, with what their P4Info says', async () => {
    const before = (await api.call('listP4Programs')).items;
    expect(before.map(({ name, example }) => [name, example])).toEqual([
      ['flow-counter', true],
      ['ipv4-router', true],
      ['l2-switch', true],
      ['nsh-forwarder', true],
    ]);
    const created = await api.call('createP4Program', { body: UPLOAD });
    expect(created).toMatchObject({ name: 'mine', example: false, switches: [], by: expect.any(String) });
    expect(created.content).toEqual(before.find(({ name }) => name === 'ipv4-router')!.content);
    const { bmv2_json, p4info, hash } = await api.call('downloadP4Program', { params: { id: 'mine' } });
    expect({ bmv2_json, p4info, hash }).toEqual({
      bmv2_json: UPLOAD.bmv2_json,
      p4info: UPLOAD.p4info,
      hash: created.hash,
    });
    const again = await refusal(api.request('createP4Program', { body: JSON.stringify(UPLOAD) }));
    expect(again).toMatchObject({ status: 409, problem: { errors: [{ pointer: '/name' }] } });
    await api.call('deleteP4Program', { params: { id: 'mine' } });
    expect((await api.request('getP4Program', { params: { id: 'mine' } })).status).toBe(404);
    expect((await api.request('deleteP4Program', { params: { id: 'l2-switch' } })).status).toBe(409);
    const { items: events } = await api.call('listEvents', { query: { limit: 100 } });
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['p4-program.created', 'p4-program.deleted']),
    );
  });

  it('are refused with the field that is wrong, and where they are too large', async () => {
    const upload = (change: object) =>
      refusal(api.request('createP4Program', { body: JSON.stringify({ ...UPLOAD, ...change }) }));
    const wrong = await upload({ p4info: 'tables { preamble { id: 1 name: "t" } }' });
    expect(wrong).toMatchObject({ status: 422, problem: { errors: [{ pointer: '/p4info' }] } });
    expect(await upload({ bmv2_json: '{}' })).toMatchObject({
      status: 422,
      problem: { errors: [{ pointer: '/bmv2_json' }] },
    });
    expect(await upload({ name: 'Mine' })).toMatchObject({ status: 422, problem: { errors: [{ pointer: '/name' }] } });
    const large = await upload({ bmv2_json: `${UPLOAD.bmv2_json}${' '.repeat(4 * 1024 * 1024)}` });
    expect(large).toMatchObject({ status: 422, problem: { errors: [{ pointer: '/bmv2_json' }] } });
    const vast = await upload({ bmv2_json: ' '.repeat(11 * 1024 * 1024) });
    expect(vast.status).toBe(413);
    const fits = `${UPLOAD.bmv2_json}${' '.repeat(3 * 1024 * 1024)}`;
    expect(
      (await api.request('createP4Program', { body: JSON.stringify({ ...UPLOAD, bmv2_json: fits }) })).status,
    ).toBe(201);
  });

  it('are uploaded by designers, their entries changed by operators, and seen by viewers', async () => {
    await server.bringUp(rackWith('ipv4-router'));
    const [viewer, operator, designer] = await Promise.all([
      server.session('viewer'),
      server.session('operator'),
      server.session('designer'),
    ]);
    const body = JSON.stringify(UPLOAD);
    const entries = JSON.stringify(entriesOf(1));
    expect((await operator.request('createP4Program', { body })).status).toBe(403);
    expect((await designer.request('createP4Program', { body })).status).toBe(201);
    expect((await viewer.request('putP4Entries', { ...lab, body: entries })).status).toBe(403);
    expect((await operator.request('putP4Entries', { ...lab, body: entries })).status).toBe(200);
    expect((await viewer.request('getP4Entries', lab)).status).toBe(200);
    expect((await viewer.request('listP4Programs')).status).toBe(200);
  });
});

describe('a switch with a program of its own', () => {
  it('is told the program and its entries, and nothing of the fabric', async () => {
    await api.call('createP4Program', { body: UPLOAD });
    await server.bringUp(rackWith('mine'));
    const { hash } = await api.call('getP4Program', { params: { id: 'mine' } });
    await until('the program is told', () => told()?.program?.hash === hash);
    expect(told()).toMatchObject({ entries: [], groups: [], program: { name: 'mine', entries: [] } });
    expect(told()!.ports.map(({ name, neighbour }) => [name, neighbour])).toEqual([
      ['p1', 'lab-1'],
      ['p2', 'lab-2'],
    ]);
    expect(server.switches.get('lab')!.program).toEqual({ hash, bmv2_json: UPLOAD.bmv2_json, p4info: UPLOAD.p4info });
    for (const [id, { spec }] of server.switches) if (id !== 'lab') expect(spec!.program).toBeUndefined();

    await api.call('putP4Entries', { ...lab, body: entriesOf(1, 2) });
    await until('the entries are told', () => told()?.program?.entries.length === 2);
    expect(await api.call('getP4Entries', lab)).toEqual(entriesOf(1, 2));
    const { items: events } = await api.call('listEvents', { query: { limit: 100 } });
    const changed = events.find(({ type }) => type === 'switch.entries-changed');
    expect(changed).toMatchObject({ subject: 'lab', data: { program: 'mine', entries: 2 } });
    expect((changed!.data as { added: string[] }).added).toEqual([
      'routes dst_addr=10.9.0.1/32: forward(next_hop=02:00:0a:09:00:01 port=p1)',
      'routes dst_addr=10.9.0.2/32: forward(next_hop=02:00:0a:09:00:02 port=p2)',
    ]);

    const inUse = await refusal(api.request('deleteP4Program', { params: { id: 'mine' } }));
    expect(inUse).toMatchObject({ status: 409, problem: { errors: [{ detail: 'lab runs it' }] } });
    await api.call('putInfrastructure', { body: rackWith(undefined) });
    await until('the switch is of the fabric again', () => told()!.program === undefined && told()!.entries.length > 0);
    expect((await api.request('getP4Entries', lab)).status).toBe(409);
  });

  it('is told its entries and its program also while other switches cannot do what chains need', async () => {
    await server.bringUp(rackWith('ipv4-router'));
    const { id } = await api.call('createChain', { body: monitorChain('web') });
    const accepted = await api.call('createDeployment', { body: { chain_id: id } });
    expect((await server.finished(accepted.id)).state).toBe('COMPLETED');
    const leaf = server.switches.get(RACK.switches[0]!.id)!;
    const { spec } = leaf;
    leaf.drivers = { ...leaf.drivers, ovs: { ...leaf.abilities, entries: 0 } };
    await leaf.rebuild('ovs');
    await until('the fabric is at fault', async () =>
      (await api.call('getDeployment', { params: { chain_id: id } })).reason?.includes('entries and has 0'),
    );
    await api.call('putP4Entries', { ...lab, body: entriesOf(1, 2) });
    await until('the entries are told', () => told()!.program?.entries.length === 2);
    const { planned } = await api.call('getSwitch', lab);
    expect(planned).toMatchObject({ generation: told()!.generation, entries: 2 });
    expect((await put(rackWith('l2-switch'))).status).toBe(200);
    await until('the other program is told', () => told()!.program?.name === 'l2-switch');
    expect(leaf.spec).toEqual(spec);
  });

  it('has its entries again after a restart of the server, and when it comes back to its program', async () => {
    await server.bringUp(rackWith('ipv4-router'));
    await api.call('putP4Entries', { ...lab, body: entriesOf(1) });
    await api.call('putInfrastructure', { body: rackWith('flow-counter') });
    expect(await api.call('getP4Entries', lab)).toEqual(entriesOf());
    await api.call('putInfrastructure', { body: rackWith('ipv4-router') });
    expect(await api.call('getP4Entries', lab)).toEqual(entriesOf(1));
    const { scratch } = server;
    const agent = server.switches.get('lab')!;
    const { credential } = agent;
    await server.pause();
    server = await TestServer.start({ twin: true }, scratch);
    ({ api } = server);
    expect(await api.call('getP4Entries', lab)).toEqual(entriesOf(1));
    const { FakeSwitch } = await import('./testing/fake-switch.js');
    const back = new FakeSwitch(server.running.url, 'lab', null);
    back.credential = credential;
    server.switches.set('lab', back);
    await back.connect();
    await until('the entries are told again', () => back.spec?.program?.entries.length === 1);
    expect(back.program?.bmv2_json).toBe(UPLOAD.bmv2_json);
  });

  it('keeps its entries where its program comes anew, as far as they fit, and its upload where an example has the name', async () => {
    const { scratch } = server;
    const examples = join(scratch.path, 'examples');
    cpSync(EXAMPLES, examples, { recursive: true });
    const example = (name: string, bmv2_json: string, p4info: string) => {
      writeFileSync(join(examples, `${name}.json`), bmv2_json);
      writeFileSync(join(examples, `${name}.p4info.txtpb`), p4info);
    };
    const restart = async () => {
      await server.pause();
      server = await TestServer.start({ twin: true, env: { ORRERY_P4_EXAMPLES: examples } }, scratch);
      ({ api } = server);
    };
    const health = async () => (await api.call('getHealth')).parts.find(({ name }) => name === 'p4-programs')!;
    await api.call('createP4Program', { body: UPLOAD });
    await api.call('putInfrastructure', { body: rackWith('ipv4-router') });
    await api.call('putP4Entries', { ...lab, body: entriesOf(1) });

    example('ipv4-router', `${UPLOAD.bmv2_json} `, UPLOAD.p4info);
    await restart();
    expect(await api.call('getP4Entries', lab)).toEqual(entriesOf(1));
    expect((await health()).status).toBe('ok');

    example('ipv4-router', read('l2-switch.json'), read('l2-switch.p4info.txtpb'));
    const listed = JSON.parse(read('examples.json')) as Record<string, object>;
    writeFileSync(join(examples, 'examples.json'), JSON.stringify({ ...listed, mine: listed['l2-switch'] }));
    example('mine', read('l2-switch.json'), read('l2-switch.p4info.txtpb'));
    await restart();
    expect(await api.call('getP4Entries', lab)).toEqual(entriesOf());
    const { status, detail } = await health();
    expect(status).toBe('degraded');
    expect(detail).toContain(
      'the entries of lab do not fit ipv4-router as it is now and are left out: /entries/0/table',
    );
    const mine = await api.call('getP4Program', { params: { id: 'mine' } });
    expect(mine).toMatchObject({ example: false, title: UPLOAD.title });
    expect((await api.call('listP4Programs')).items.filter(({ name }) => name === 'mine')).toHaveLength(1);

    example('ipv4-router', UPLOAD.bmv2_json, UPLOAD.p4info);
    await restart();
    expect(await api.call('getP4Entries', lab)).toEqual(entriesOf(1));
    await api.call('deleteP4Program', { params: { id: 'mine' } });
    expect(await api.call('getP4Program', { params: { id: 'mine' } })).toMatchObject({ example: true });
  });

  it('that an earlier version took, which checked less, is kept as its P4Info says', async () => {
    const { content } = await api.call('createP4Program', { body: UPLOAD });
    const { redis } = server.running.store;
    const stored = JSON.parse((await redis.hget(KEYS.p4Programs, 'mine'))!);
    // Its switch refuses a key of other bits than those of the JSON.
    const p4info = UPLOAD.p4info.replace('bitwidth: 32', 'bitwidth: 31');
    const value = { ...stored.value, p4info, hash: 'f'.repeat(64) };
    await redis.hset(KEYS.p4Programs, 'mine', JSON.stringify({ ...stored, value }));
    const { scratch } = server;
    await server.pause();
    server = await TestServer.start({ twin: true }, scratch);
    ({ api } = server);
    const { tables } = (await api.call('getP4Program', { params: { id: 'mine' } })).content;
    expect(tables).toMatchObject([{ ...content.tables[0], fields: [{ name: 'dst_addr', bits: 31 }] }]);
    const again = await api.request('createP4Program', { body: JSON.stringify({ ...UPLOAD, name: 'other', p4info }) });
    expect((again.body as Problem).errors).toMatchObject([{ pointer: '/p4info', code: 'other-program' }]);
  });

  it('has no entries of a removed switch of its name', async () => {
    await server.bringUp(rackWith('ipv4-router'));
    await api.call('putP4Entries', { ...lab, body: entriesOf(1) });
    const rack = rackWith('ipv4-router');
    const without = rack.switches.filter(({ id }) => id !== 'lab');
    const links = rack.links.filter(({ a, b }) => a.node !== 'lab' && b.node !== 'lab');
    const hosts = rack.hosts.filter(({ id }) => !id.startsWith('lab-'));
    await api.call('putInfrastructure', { body: { ...rack, switches: without, links, hosts } });
    await api.call('putInfrastructure', { body: rack });
    await until('the entries are gone', async () => (await api.call('getP4Entries', lab)).entries.length === 0);
  });

  it('takes as many entries as it may have, in long words, and tells of default actions and groups', async () => {
    await server.bringUp(rackWith('ipv4-router'));
    const entries = Array.from({ length: 1024 }, (_, i) => ({
      table: 'Router.routes',
      match: { dst_addr: `0x${'0'.repeat(150)}0a0a0${i.toString(16).padStart(3, '0')}` },
      action: 'Router.forward',
      params: { next_hop: `0x${'0'.repeat(190)}1`, port: `0x${'0'.repeat(150)}${i % 8}${' '.repeat(40)}` },
    }));
    const body = JSON.stringify({ entries, default_actions: [], groups: [] }).padEnd(2 * 1024 * 1024);
    expect((await api.request('putP4Entries', { ...lab, body })).status).toBe(200);
    const drop = { table: 'routes', action: 'drop', params: {} };
    const content = { entries: [], default_actions: [drop], groups: [{ id: 3, ports: ['p1', 'p2'] }] };
    await api.call('putP4Entries', { ...lab, body: content });
    const { items: events } = await api.call('listEvents', { query: { limit: 100 } });
    const added = events
      .filter(({ type }) => type === 'switch.entries-changed')
      .map(({ data }) => (data as { added: string[] }).added);
    expect(added).toContainEqual(['default of routes: drop()', 'group 3: p1, p2']);
  });

  it('takes only entries that fit the program, which nobody else has changed', async () => {
    await server.bringUp(rackWith('ipv4-router'));
    const { headers } = await api.request('getP4Entries', lab);
    const etag = headers.get('etag')!;
    const attempt = (content: unknown, ifMatch: string) =>
      refusal(api.request('putP4Entries', { ...lab, body: JSON.stringify(content), headers: { 'if-match': ifMatch } }));
    const wrong = { ...entriesOf(1), entries: [{ ...route(1), params: { next_hop: '1', port: 'p7' } }] };
    expect(await attempt(wrong, etag)).toMatchObject({
      status: 422,
      problem: { errors: [{ pointer: '/entries/0/params/port', detail: 'the switch has no port p7' }] },
    });
    expect(
      (await api.request('putP4Entries', { ...lab, body: JSON.stringify(entriesOf(1)), withoutIfMatch: true })).status,
    ).toBe(428);
    await api.call('putP4Entries', { ...lab, body: entriesOf(1) });
    expect((await attempt(entriesOf(2), etag)).status).toBe(412);
    expect(await api.call('getP4Entries', lab)).toEqual(entriesOf(1));
  });

  it('takes no two entries of the same packets, one of which names a port and the other its number', async () => {
    await server.bringUp(rackWith('l2-switch'));
    const tor = server.switches.get('lab')!;
    tor.observed = { ...tor.observed, ports: [{ name: 'p1', number: 7, up: true }] };
    await tor.rebuild('p4');
    await until(
      'the number of its port is known',
      async () => (await api.call('getSwitch', lab)).observed?.ports.length,
    );
    const to = (port: string) => ({ table: 'last_hop', match: { port }, action: 'NoAction' });
    const body = JSON.stringify({ entries: [to('p1'), to('7')] });
    expect(await refusal(api.request('putP4Entries', { ...lab, body }))).toMatchObject({
      status: 422,
      problem: {
        errors: [
          {
            pointer: '/entries/1/match',
            detail: 'matches the same packets as entry 0: port p1 has the number 7',
            code: 'duplicate',
          },
        ],
      },
    });
    // Another driver may number its ports otherwise.
    await api.call('putInfrastructure', { body: rackWith('l2-switch', 'lab', 'bmv2') });
    await until('its driver changes', async () => (await api.call('getSwitch', lab)).changing);
    expect((await api.request('putP4Entries', { ...lab, body })).status).toBe(200);
  });

  it('gives what its tables hold, its cells, and the example entries of its hosts', async () => {
    await server.bringUp(rackWith('ipv4-router'));
    const agent = server.switches.get('lab')!;
    const reading: P4Reading = {
      hash: (await api.call('getP4Program', { params: { id: 'ipv4-router' } })).hash,
      entries: [
        { ...route(1), packets: 3, bytes: 300, own: false },
        // As finsy writes it, and longer than Orrery takes itself.
        { ...route(2), match: { dst_addr: '1'.repeat(300) }, priority: 1e8, packets: 0, bytes: 0, own: false },
      ],
      left_out: 0,
      default_actions: [],
      groups: [],
    };
    agent.answer = (method, params) =>
      method === 'read_program' ? reading : { cells: [{ index: params.from, packets: 1, bytes: 2 }] };
    expect(await api.call('readP4Tables', lab)).toEqual(reading);
    const query = { kind: 'counter', name: 'c', from: 4 };
    expect(await api.call('readP4Cells', { ...lab, query })).toEqual({ cells: [{ index: 4, packets: 1, bytes: 2 }] });
    agent.answer = (_method, { name }) => {
      throw new Error(`/name: the program has no counter ${name}`);
    };
    expect(
      (await refusal(api.request('readP4Cells', { ...lab, query: { ...query, name: 'nope' } }))).problem,
    ).toMatchObject({
      status: 422,
      errors: [{ pointer: '/name', detail: 'the program has no counter nope' }],
    });
    agent.answer = () => {
      throw new Error('/method: a switch has no such call');
    };
    expect((await api.request('readP4Cells', { ...lab, query })).status).toBe(502);
    agent.answer = () => ({ entries: 'none' });
    expect((await api.request('readP4Tables', lab)).status).toBe(502);
    const example = await api.call('getExampleP4Entries', lab);
    expect(example.entries.map(({ match, params }) => [match.dst_addr, params.port, params.next_hop])).toEqual([
      ['10.9.0.1/32', 'p1', '02:00:0a:09:00:01'],
      ['10.9.0.2/32', 'p2', '02:00:0a:09:00:02'],
    ]);
    for (const name of ['l2-switch', 'flow-counter', 'nsh-forwarder', 'ipv4-router']) {
      await api.call('putInfrastructure', { body: rackWith(name) });
      await api.call('putP4Entries', { ...lab, body: await api.call('getExampleP4Entries', lab) });
    }
  });

  it('is refused where there is no such program, on Open vSwitch, and where a chain is carried', async () => {
    const wrong = await refusal(put(rackWith('none')));
    const at = `/switches/${RACK.switches.length}/program`;
    expect(wrong).toMatchObject({ status: 422, problem: { errors: [{ pointer: at }] } });
    expect(wrong.problem.detail).toContain(
      'there is no P4 program "none"; there are flow-counter, ipv4-router, l2-switch, nsh-forwarder',
    );
    const ovs = await refusal(put(rackWith('ipv4-router', 'lab', 'ovs')));
    expect(ovs.problem.errors).toMatchObject([{ pointer: at, code: 'not-programmable' }]);

    await server.bringUp(rackWith(undefined));
    const { id } = await api.call('createChain', { body: monitorChain('web') });
    const operation = await api.call('createDeployment', { body: { chain_id: id } });
    expect((await server.finished(operation.id)).state).toBe('COMPLETED');
    const carrier = [...server.switches.values()].find(({ rules }) => rules.length > 0)!.node;
    const carried = await refusal(put(rackWith('ipv4-router', carrier)));
    expect(carried).toMatchObject({ status: 409 });
    expect(carried.problem.errors![0]!.detail).toMatch(
      new RegExp(`${carrier}.*which a P4 program of its own does not carry`),
    );
    await api.call('deleteDeployment', { params: { chain_id: id } });
    await until(
      'the chain is gone',
      async () => (await api.call('getChain', { params: { id } })).deployment_state === 'none',
    );
    expect((await put(rackWith('ipv4-router', carrier))).status).toBe(200);

    const plan = await api.request('createPlan', { body: JSON.stringify({ chains: [{ chain_id: id }] }) });
    expect(plan.body).toMatchObject({ feasible: false, conflicts: [{ constraint: 'switch-program', where: carrier }] });
  });

  it('may be set at a switch whose only rules of a chain are for replies that no other switch sends through it', async () => {
    const linked = (program: string | undefined, of = 'lab') => {
      const rack = rackWith(program, of);
      const trunk = {
        id: 'trunk',
        a: { node: 'leaf-1', port: 'up' },
        b: { node: 'lab', port: 'up' },
        bandwidth_bps: 1e9,
      };
      return Infrastructure.parse({ ...rack, links: [...rack.links, trunk] });
    };
    await server.bringUp(linked(undefined));
    const { id } = await api.call('createChain', { body: NAT_CHAIN });
    const operation = await api.call('createDeployment', { body: { chain_id: id } });
    expect((await server.finished(operation.id)).state).toBe('COMPLETED');
    const ofChains = server.switches.get('lab')!.spec!.entries.flatMap(({ rule_id }) => rule_id ?? []);
    expect(ofChains).toEqual([expect.stringMatching(/^return\//)]);
    expect((await put(linked('ipv4-router', 'leaf-1'))).status).toBe(409);
    expect((await put(linked('ipv4-router'))).status).toBe(200);
  });
});
