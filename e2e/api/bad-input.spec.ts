import { expect, test } from '../support/orrery.js';

/** A small chain that is valid in every field; each case breaks one. */
const chain = () => ({
  name: 'spoiled',
  title: 'Spoiled',
  description: '',
  traffic_class: { from: ['client-1'], match: [], rate_bps: 1_000_000, packet_bytes: 800 },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'fw', kind: 'nf', nf: 'firewall', config: { default_action: 'allow', rules: [] } },
    { id: 'mon', kind: 'nf', nf: 'monitor', config: {} },
    { id: 'out', kind: 'egress' },
  ] as Record<string, unknown>[],
  edges: [
    { id: 'a', from: 'in', to: 'fw', filter: [] },
    { id: 'b', from: 'fw', to: 'mon', filter: [] },
    { id: 'c', from: 'mon', to: 'out', filter: [] },
  ] as Record<string, unknown>[],
  slos: [],
});

const CASES = [
  {
    what: 'a cycle',
    spoil: (c: ReturnType<typeof chain>) => c.edges.push({ id: 'back', from: 'mon', to: 'fw', filter: [] }),
    code: 'cycle',
    pointer: /^\/(edges|nodes)\/\d+/,
  },
  {
    what: 'a filter on an attribute that no NF sets',
    spoil: (c: ReturnType<typeof chain>) => {
      c.edges[1]!.filter = [{ attribute: 'ids.verdict', op: 'is', value: 'safe' }];
    },
    code: /unknown-attribute|attribute-not-upstream/,
    pointer: /^\/edges\/1\/filter\/0/,
  },
  {
    what: 'a firewall rule with a bad prefix',
    spoil: (c: ReturnType<typeof chain>) => {
      c.nodes[1]!.config = { default_action: 'allow', rules: [{ action: 'deny', src: '10.0.0.300/8' }] };
    },
    code: 'bad-config',
    pointer: /^\/nodes\/1\/config\/rules\/0\/src/,
  },
];

for (const { what, spoil, code, pointer } of CASES) {
  test(`${what} is rejected by the validator and never deployed`, async ({ api }) => {
    const definition = chain();
    spoil(definition);
    const problems = (await api.ok('POST', '/chains/validate', definition)).problems;
    expect(problems).toContainEqual(
      expect.objectContaining({
        severity: 'error',
        code: expect.stringMatching(code),
        pointer: expect.stringMatching(pointer),
      }),
    );
    const stored = await api.ok('POST', '/chains', definition);
    const before = await api.ok('GET', '/nf-instances');
    const refused = await api.call('POST', '/deployments', { chain_id: stored.id });
    expect(refused.status).toBe(422);
    expect(refused.headers['content-type']).toContain('application/problem+json');
    expect(refused.body.errors.map((e: { pointer: string }) => e.pointer).join(' ')).toMatch(/edges|nodes/);
    expect(await api.ok('GET', '/nf-instances')).toEqual(before);
    expect((await api.ok('GET', `/chains/${stored.id}`)).deployed_version).toBeNull();
    await api.ok('DELETE', `/chains/${stored.id}`);
  });
}

test('an unknown field is named and nothing is stored', async ({ api }) => {
  const before = await api.ok('GET', '/chains');
  const { status, headers, body } = await api.call('POST', '/chains', { ...chain(), colour: 'red' });
  expect(status).toBe(422);
  expect(headers['content-type']).toContain('application/problem+json');
  expect(JSON.stringify(body.errors)).toContain('colour');
  expect(await api.ok('GET', '/chains')).toEqual(before);
});

test('a body of 10 MB is refused', async ({ api }) => {
  const { status, headers } = await api.call('POST', '/chains', { ...chain(), description: 'x'.repeat(10_000_000) });
  expect(status).toBe(413);
  expect(headers['content-type']).toContain('application/problem+json');
});

test('a file that is not a capture is refused and not stored', async ({ api }) => {
  const before = await api.ok('GET', '/twin/pcaps');
  const { status, body } = await api.call('POST', '/twin/pcaps?name=letter.pcap', Buffer.from('Dear Sir or Madam'), {
    'content-type': 'application/octet-stream',
  });
  expect(status).toBe(422);
  expect(body.errors.length).toBeGreaterThan(0);
  expect(await api.ok('GET', '/twin/pcaps')).toEqual(before);
});

test('nothing is disclosed without a token', async ({ request }) => {
  for (const path of ['/chains', '/nodes', '/events', '/infrastructure']) {
    expect((await request.get(`${process.env.E2E_URL}/api/v1${path}`)).status(), path).toBe(401);
  }
});
