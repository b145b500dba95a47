import {
  type AnyApplicationKind,
  APPLICATION_KINDS,
  type Application,
  ApplicationDefinition,
  applicationKindInfo,
} from '@orrery/contract';
import { expect, it } from 'vitest';
import { formFields } from '../../shared/form/field-model.js';
import { formProblems } from '../../shared/form/field-problems.js';
import { asValues } from '../../shared/form/field-values.js';
import { applicationFields, freeId, nameProblem, nodesFor, ofKind } from './application-fields.js';
import { inOrder, settingsText } from './application-text.js';

const KINDS = APPLICATION_KINDS.map((kind) => applicationKindInfo(kind as unknown as AnyApplicationKind));
const kindOf = (name: string) => KINDS.find(({ id }) => id === name)!;
const CLIENT = kindOf('http-client');

it('begins with the defaults of the kind, and keeps the destination when the kind changes', () => {
  const draft = ofKind(CLIENT, {}, ['http-client-1']);
  expect(draft).toMatchObject({ id: 'http-client-2', config: { port: 80, path: '/', rate_per_s: 10 } });
  const probe = ofKind(kindOf('probe'), { node: 'client-1', config: { ...asValues(draft.config), to: 'web-1' } }, []);
  expect(probe).toMatchObject({ id: 'probe-1', node: 'client-1', config: { to: 'web-1', port: 9000 } });
  expect(ofKind(kindOf('http-server'), probe, []).config).toEqual({ port: 80 });
});

it('names each field that is missing or out of bounds', () => {
  const fields = applicationFields(KINDS, { kind: 'http-client' }, true);
  const draft = { ...ofKind(CLIENT, {}, []), id: 'Web 1' };
  expect(nameProblem(draft)).toEqual({ '/id': expect.stringContaining('a-z') });
  expect([...formProblems(fields, { ...draft, id: '' }).keys()]).toEqual(['/id', '/node', '/config/to']);
  const config = { ...asValues(ofKind(CLIENT, {}, []).config), to: 'web-1', rate_per_s: 1e9 };
  const fast = { ...draft, id: 'web', node: 'client-1', config };
  expect([...formProblems(fields, fast)]).toEqual([['/config/rate_per_s', 'must be at most 2000 requests/s']]);
  expect(nameProblem(fast)).toEqual({});
});

it('needs no more of a flow generator than its name, its host and where to send', () => {
  const kind = kindOf('flow-generator');
  const draft = ofKind(kind, { node: 'client-1', config: { to: 'web-1' } }, []);
  expect([...formProblems(applicationFields(KINDS, draft, true), draft)]).toEqual([]);
  expect(ApplicationDefinition.safeParse(draft).success).toBe(true);
  const group = applicationFields(KINDS, draft, true).find(({ key }) => key === 'config');
  const fields = group?.kind === 'group' ? group.fields : [];
  const labels = fields.map((field) => `${field.title} ${field.kind === 'number' ? field.unit : field.kind}`);
  expect(labels).toEqual([
    'To reference',
    'Address family choice',
    'Port ',
    'New flows flows/s',
    'Distribution choice',
    'Mean size bytes',
    'Mean lifetime s',
    'Share of TCP-like flows ',
    'Packets choice',
    'Packet bytes',
    'Total rate bps',
    'Wave rows',
    'Repeat wave boolean',
    'Seed ',
    'Duration s',
  ]);
});

it('says where the kind runs', () => {
  const described = (kind: string) => applicationFields(KINDS, { kind }, true).find(({ key }) => key === 'config');
  expect(described('pcap-replay')?.description).toMatch(/Runs on hosts\.$/);
  expect(described('http-server')?.description).toMatch(/Runs on hosts, servers, gateways\.$/);
});

it('changes neither kind nor name of what there is', () => {
  const fixed = (isNew: boolean) =>
    applicationFields(KINDS, { kind: 'probe' }, isNew).flatMap(({ key, readOnly }) => (readOnly ? [key] : []));
  expect(fixed(false)).toEqual(['kind', 'id']);
  expect(fixed(true)).toEqual([]);
});

it.each(KINDS.map((kind) => [kind.id, kind] as const))('draws a form for every field of %s', (_, kind) => {
  const raw = formFields(kind.config_schema).filter((field) => field.kind === 'raw');
  expect(raw).toEqual([]);
});

it('offers emulated hosts and servers, as the kind says', () => {
  const infrastructure = {
    hosts: [
      { id: 'client-1', origin: 'twin' },
      { id: 'far', origin: 'live' },
    ],
    servers: [{ id: 'server-1', origin: 'twin' }],
  } as never;
  expect(nodesFor(CLIENT, infrastructure)).toEqual(['client-1']);
  expect(nodesFor(kindOf('http-server'), infrastructure)).toEqual(['client-1', 'server-1']);
});

it('says what is set, and puts trouble first', () => {
  const application = (id: string, state: string) =>
    ({
      id,
      definition: {
        id,
        kind: 'http-client',
        node: 'client-1',
        enabled: true,
        config: { to: 'web-1', port: 80, rate_per_s: 20, path: '/', duration_s: 60 },
      },
      status: { state, metrics: [] },
    }) as unknown as Application;
  const text = settingsText(application('a', 'running'), CLIENT, (id) => id);
  expect(text).toBe('to web-1, port 80, 20 requests/s, duration 60 s');
  const flows = application('flows', 'running');
  const wave = [
    { at_s: 0, rate_bps: 7_200_000 },
    { at_s: 30, rate_bps: 12_300_000 },
  ];
  const config = { to: 'web-1', port: 9100, flows_per_s: 2000, rate_bps: 0, wave, wave_repeats: true };
  Object.assign(flows.definition, { kind: 'flow-generator', config });
  expect(settingsText(flows, kindOf('flow-generator'), (id) => id)).toBe(
    'to web-1, port 9100, 2000 flows/s, wave of 2 points, repeat wave',
  );
  const order = inOrder([application('a', 'running'), application('b', 'failed'), application('c', 'stopped')]);
  expect(order.map(({ id }) => id)).toEqual(['b', 'a', 'c']);
  expect(freeId('probe', ['probe-1', 'probe-2'])).toBe('probe-3');
});
