import { Event, type EventDraft } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { causeOf, reactionsOf } from './causes.js';
import { whereFuller, whereSlower } from './places.js';
import { SiteMemory } from './site-memory.js';

const BEGAN_MS = 1_700_000_000_000;
/** Seen a second later. */
const VIOLATION = { began_ms: BEGAN_MS, seen_ms: BEGAN_MS + 1000 };
const site = {
  chainId: 'ch-1',
  parts: new Set(['server-1', 'link-1', 'board-1', 'leaf-1', 'c.ids.0']),
  ports: new Set(['server-1 nic0', 'leaf-1 p1']),
};

let count = 0;
function at(secondsBefore: number, draft: EventDraft) {
  const t_ms = BEGAN_MS - 1000 * secondsBefore;
  const head = { id: `${t_ms}-${count++}`, t_ms, project: 'default', severity: 'info', actor: 'server' };
  return Event.parse({ ...head, ...draft });
}
const fault = (target: string): EventDraft => ({
  type: 'fault.injected',
  subject: 'fault-1',
  message: `link-down at ${target}`,
  data: { fault_id: 'fault-1', kind: 'link-down', target },
});
const linkDown: EventDraft = { type: 'link.down', subject: 'link-1', message: 'link-1 is down', data: {} };
const operation = (chain_id: string): EventDraft => ({
  type: 'operation.started',
  subject: 'op-1',
  message: 'Deployment of Web',
  data: { chain_id, plan_id: 'pn-1', chains: [chain_id] },
});
const healing = { ...operation('ch-1'), actor: 'healing' };
const scalingOut: EventDraft = {
  type: 'scaling.out',
  subject: 'sc-1',
  message: 'ids scales out',
  actor: 'scaling',
  data: { id: 'sc-1', chain_id: 'ch-1', node_id: 'ids', from: 1, to: 2, policy_id: 'sp-1' },
};
const ended = (subject: string, node: string): EventDraft => ({
  type: 'instance.ended',
  subject,
  message: `${subject} ended`,
  data: { node, how: 'killed' },
});
const portDown = (type: 'port.down' | 'switch.port-down', subject: string, port: string): EventDraft => ({
  type,
  subject,
  message: `Port ${port} is down`,
  data: { port, node: subject },
});
const silence = (subject: string): EventDraft => ({
  type: 'node.disconnected',
  subject,
  message: `No message from the agent of ${subject} for 2 s`,
  data: { origin: 'twin', chains: [] },
});
const lost: EventDraft = {
  type: 'healing.lost',
  subject: 'server-1',
  message: 'server-1 is lost',
  data: { instances: [], chains: [] },
};

describe('the cause of a violation', () => {
  it('is what was done on purpose, rather than what it made fail', () => {
    const events = [at(2, fault('link-1')), at(1.5, linkDown), at(110, operation('ch-1'))];
    expect(causeOf(events, site, VIOLATION, { nf: 'ids', lost_pps: 5 })).toMatchObject({
      kind: 'fault',
      id: 'fault-1',
      what: 'link-down at link-1',
      event_id: events[0]!.id,
    });
    expect(causeOf([at(1.5, linkDown)], site, VIOLATION, null)).toMatchObject({ kind: 'failure', id: 'link-1' });
  });

  it('is close in time: the last change before the violation, not an earlier one', () => {
    const events = [at(100, fault('link-1')), at(3, operation('ch-1'))];
    expect(causeOf(events, site, VIOLATION, null)).toMatchObject({ kind: 'operation', id: 'op-1' });
    // A violation is seen within a second.
    expect(causeOf([at(-0.9, operation('ch-1'))], site, VIOLATION, null)).toMatchObject({ id: 'op-1' });
  });

  it('is a failure that is told up to ten seconds after what it broke, if nothing was done on purpose', () => {
    const late = at(-10.9, ended('c.ids.0', 'server-1'));
    expect(causeOf([late], site, VIOLATION, null)).toMatchObject({ kind: 'failure', id: 'c.ids.0' });
    expect(causeOf([at(-11.1, ended('c.ids.0', 'server-1'))], site, VIOLATION, null)).toBeNull();
    expect(causeOf([at(-5, operation('ch-1'))], site, VIOLATION, null)).toBeNull();
    expect(causeOf([at(2, fault('link-1')), late], site, VIOLATION, null)).toMatchObject({ kind: 'fault' });
  });

  it('says of what it is, where its message does not', () => {
    const engineEnded: EventDraft = {
      type: 'engine.ended',
      subject: 'server-1',
      message: 'Engine (pid 7 in the twin) ended: killed; its flow state is lost',
      data: { node: 'server-1', pid: 7, how: 'killed', chains: [] },
    };
    const what = 'server-1: Engine (pid 7 in the twin) ended: killed; its flow state is lost';
    expect(causeOf([at(1, engineEnded)], site, VIOLATION, null)).toMatchObject({ id: 'server-1', what });
    expect(causeOf([at(1, linkDown)], site, VIOLATION, null)).toMatchObject({ what: 'link-1 is down' });
  });

  it('concerns the chain', () => {
    const others = [at(1, fault('link-9')), at(1, operation('ch-2')), at(1, ended('d.ids.0', 'server-1'))];
    expect(causeOf(others, site, VIOLATION, null)).toBeNull();
    expect(causeOf([...others, at(20, ended('c.ids.0', 'server-1'))], site, VIOLATION, null)).toMatchObject({
      kind: 'failure',
      id: 'c.ids.0',
    });
  });

  it('is a port only where one of the links ends that the chain runs over', () => {
    const causeAt = (...port: Parameters<typeof portDown>) =>
      causeOf([at(15, portDown(...port))], site, VIOLATION, null);
    expect(causeAt('switch.port-down', 'leaf-1', 'p1')).toMatchObject({ what: 'leaf-1: Port p1 is down' });
    expect(causeAt('switch.port-down', 'leaf-1', 'p2')).toBeNull();
    expect(causeAt('port.down', 'server-1', 'nic0')).toMatchObject({ kind: 'failure', id: 'server-1' });
    expect(causeAt('port.down', 'server-1', 'nic1')).toBeNull();
  });

  it('is a silent agent only where what it drives is lost with it', () => {
    const silent = at(5, silence('server-1'));
    expect(causeOf([silent, at(5, silence('leaf-1'))], site, VIOLATION, null)).toBeNull();
    expect(causeOf([silent, at(-8, lost)], site, VIOLATION, null)).toMatchObject({ event_id: silent.id });
    expect(causeOf([silent], site, VIOLATION, null, true)).toMatchObject({ event_id: silent.id });
    // A switch, of which no event tells that it is lost.
    const hung = at(5, silence('leaf-1'));
    expect(causeOf([hung], site, VIOLATION, null, false, new Set(['leaf-1']))).toMatchObject({ id: 'leaf-1' });
    expect(causeOf([hung], site, VIOLATION, null, false, new Set(['leaf-2']))).toBeNull();
    // Its agent was back between.
    const back: EventDraft = { type: 'node.connected', subject: 'leaf-1', message: 'back', data: { origin: 'twin' } };
    expect(causeOf([hung, at(2, back)], site, VIOLATION, null, false, new Set(['leaf-1']))).toBeNull();
    // Long after, or before it was silent again.
    expect(causeOf([silent, at(-116, lost), at(6, lost)], site, VIOLATION, null)).toBeNull();
  });

  it('is nothing that was done after the violation was seen, however late failures are told', () => {
    const killed: EventDraft = { type: 'engine.killed', subject: 'server-1', message: 'killed', data: { chains: [] } };
    expect(causeOf([at(-1.1, killed)], site, VIOLATION, null)).toBeNull();
    expect(causeOf([at(1, killed)], site, VIOLATION, null)).toMatchObject({ id: 'server-1' });
  });

  it('is not found where nothing changed: neither long before nor after', () => {
    expect(causeOf([at(121, fault('link-1')), at(-1.1, fault('link-1'))], site, VIOLATION, null)).toBeNull();
    expect(causeOf([], site, VIOLATION, null)).toBeNull();
  });

  it('is a full queue where nothing better explains it', () => {
    const overload = { nf: 'ids', lost_pps: 420 };
    expect(causeOf([at(119, operation('ch-1'))], site, VIOLATION, overload)).toMatchObject({
      kind: 'overload',
      id: 'ids',
      event_id: null,
      what: 'The queue of ids is full: 420 packets/s have no room',
    });
  });
});

describe('what a chain ran on', () => {
  const links = [
    { id: 'link-1', a: { node: 'server-1', port: 'nic0' }, b: { node: 'leaf-1', port: 'p1' } },
    { id: 'link-2', a: { node: 'server-2', port: 'nic0' }, b: { node: 'leaf-1', port: 'p2' } },
  ];
  const network = { links, switches: [{ id: 'leaf-1' }] } as never;
  const planOn = (server: string, chain_id = 'ch-1') => {
    const node = { kind: 'nf', id: `${chain_id}.ids.0`, chain_id, node_id: 'ids', server, board: null };
    const definition = { traffic_class: { from: ['host-1'] } };
    return { graph: { nodes: [node], edges: [] }, chains: [{ chain_id, definition }] } as never;
  };
  it('is what it ran on before a loop moved it away from what had failed', () => {
    const sites = new SiteMemory();
    sites.follow(planOn('server-1'), BEGAN_MS - 2000);
    sites.follow(planOn('server-2'), BEGAN_MS + 1000);
    sites.see('ch-1 fast', 'ch-1', VIOLATION, network);
    // Long after, when the first plan is forgotten.
    const movedMs = BEGAN_MS + 600_000;
    sites.follow(planOn('server-2'), movedMs);
    const seen = sites.of('ch-1 fast', 'ch-1', VIOLATION, network);
    expect(seen.parts).toEqual(new Set(['server-1', 'server-2', 'link-1', 'link-2', 'leaf-1', 'host-1', 'ch-1.ids.0']));
    const events = [at(5, silence('server-1')), at(2, lost), at(1, healing)];
    expect(causeOf(events, seen, VIOLATION, null)).toMatchObject({ kind: 'failure', id: 'server-1' });
    expect(reactionsOf(events, seen, { ...VIOLATION, began_ms: BEGAN_MS - 1000 }, movedMs)).toMatchObject([
      { kind: 'operation', id: 'op-1' },
    ]);

    const next = { began_ms: movedMs, seen_ms: movedMs + 1000 };
    expect(sites.of('ch-1 fast', 'ch-1', next, network).parts).not.toContain('server-1');
    expect(sites.lately('ch-2', network).parts).not.toContain('server-2');
    expect(sites.lately('ch-1', network).ports).toEqual(new Set(['server-2 nic0', 'leaf-1 p2']));
    sites.retain(new Set());
    expect(sites.of('ch-1 fast', 'ch-1', VIOLATION, network).parts).not.toContain('server-1');
  });

  it('is looked for no further back than a cause', () => {
    const sites = new SiteMemory();
    sites.follow(planOn('server-1'), BEGAN_MS - 121_000);
    sites.follow(planOn('server-2'), BEGAN_MS - 100_000);
    sites.follow(null, BEGAN_MS + 1000);
    expect(sites.of('ch-1 fast', 'ch-1', VIOLATION, network).parts).not.toContain('server-1');
    expect(sites.of('ch-1 fast', 'ch-1', VIOLATION, network).parts).toContain('server-2');
  });
});

describe('reactions to a violation', () => {
  it('are changes of the chain since it was seen, and none of them is its cause', () => {
    const events = [
      at(30, linkDown),
      at(-3, healing),
      at(-5, scalingOut),
      at(-6, fault('link-1')),
      at(-90, operation('ch-1')),
    ];
    expect(causeOf(events, site, VIOLATION, null)).toMatchObject({ kind: 'failure', id: 'link-1' });
    expect(reactionsOf(events, site, VIOLATION, BEGAN_MS + 60_000)).toMatchObject([
      { kind: 'operation', id: 'op-1', event_id: events[1]!.id },
      { kind: 'scaling', id: 'sc-1' },
    ]);
    expect(causeOf(events.slice(1), site, VIOLATION, null)).toBeNull();
  });

  it('of healing come late for what had failed before, and may be the cause of something where nothing had', () => {
    expect(causeOf([at(20, linkDown), at(1, healing)], site, VIOLATION, null)).toMatchObject({ kind: 'failure' });
    expect(causeOf([at(1, healing), at(0.5, linkDown)], site, VIOLATION, null)).toMatchObject({ kind: 'failure' });
    expect(causeOf([at(1, scalingOut)], site, VIOLATION, null)).toMatchObject({ kind: 'scaling', id: 'sc-1' });
  });

  it('are the first ones of many', () => {
    const many = Array.from({ length: 20 }, (_, n) => at(-2 - n, operation('ch-1')));
    const listed = reactionsOf(many, site, VIOLATION, BEGAN_MS + 60_000);
    expect(listed.map(({ event_id }) => event_id)).toEqual(many.slice(0, 8).map(({ id }) => id));
  });
});

describe('the place of a violation', () => {
  const nf = (name: string, before: number | null, since: number | null) => ({ nf: name, before, since });

  it('is the NF that grew most, where the NFs explain the growth of the chain', () => {
    const nfs = [nf('fw', 10, 12), nf('ids', 40, 900)];
    expect(whereSlower({ before: 60, since: 920 }, nfs)).toEqual({ nf: 'ids', what: 'ids: 900 µs, 40.0 µs before' });
  });

  it('is between NFs where they do not', () => {
    const nfs = [nf('fw', 10, 12), nf('ids', 40, 41)];
    expect(whereSlower({ before: 60, since: 5060 }, nfs)).toMatchObject({
      nf: null,
      what: expect.stringMatching(/^Between NFs/),
    });
  });

  it('is unknown where nothing grew or was measured', () => {
    expect(whereSlower({ before: null, since: 900 }, [nf('ids', null, 40)])).toBeNull();
    expect(whereSlower({ before: 60, since: 60.5 }, [nf('ids', 40, 40.2)])).toBeNull();
    expect(whereFuller([nf('ids', 40, 40), nf('fw', null, 0)])).toBeNull();
  });

  it('is the NF whose queue has less room than before', () => {
    expect(whereFuller([nf('ids', 0, 40), nf('fw', null, 90)])).toMatchObject({ nf: 'fw', lost_pps: 90 });
  });
});
