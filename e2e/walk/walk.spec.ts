import { Editor } from '../support/editor.js';
import { expect, test } from '../support/orrery.js';

const NAT_ADDRESS = /^198\.(18|19)\./;

test('a chain drawn in the browser carries real packets in the twin', async ({ signedIn: page, api }) => {
  const editor = new Editor(page);
  const ids: Record<string, string> = {};

  await test.step('1 draw: drag NFs onto the canvas and join them', async () => {
    await page.getByRole('link', { name: 'Chains' }).first().click();
    await page
      .getByRole('button', { name: /new chain/i })
      .first()
      .click();
    await page.getByText(/empty/i).first().click();
    await page.getByLabel('Title').fill('Walk');
    await page.getByRole('button', { name: 'Create' }).click();
    await expect(editor.canvas).toBeVisible();
    await editor.zoomOut(3);
    await editor.moveTo('ingress', { x: 0.1, y: 0.5 });
    await editor.moveTo('egress', { x: 0.9, y: 0.5 });
    ids.ids = await editor.drop('Intrusion detection', { x: 0.3, y: 0.5 });
    ids.firewall = await editor.drop('Firewall', { x: 0.5, y: 0.2 });
    ids.limiter = await editor.drop('Rate limiter', { x: 0.5, y: 0.75 });
    ids.nat = await editor.drop('NAT', { x: 0.7, y: 0.5 });
    await editor.connect('ingress', ids.ids);
    await editor.connect(ids.ids, ids.firewall);
    await editor.connect(ids.ids, ids.limiter);
    await editor.connect(ids.firewall, ids.nat);
    await editor.connect(ids.limiter, ids.nat);
    await editor.connect(ids.nat, 'egress');
  });

  await test.step('2 check: two branches for the same packet are refused until filters part them', async () => {
    await expect(editor.node(ids.ids!).getByRole('img', { name: /problem/ })).toBeVisible();
    await editor.selectEdge(ids.ids!, ids.firewall!);
    await editor.addCondition(1, /verdict/i, 'safe');
    await editor.selectEdge(ids.ids!, ids.limiter!);
    await editor.addCondition(1, /verdict/i, 'unsafe');
    await expect(editor.node(ids.ids!).getByRole('img', { name: /problem/ })).toHaveCount(0);
    await editor.canvas.click({ position: { x: 20, y: 20 } });
    await page.getByRole('button', { name: /add.*latency|latency objective|^latency$/i }).click();
    await editor.saved();
  });

  await test.step('3 plan: the dry run shows a place for each NF', async () => {
    await page.getByRole('button', { name: 'Plan' }).click();
    const drawer = page.getByRole('dialog');
    for (const nf of ['ids', 'firewall', 'rate-limiter', 'nat'])
      await expect(drawer.getByText(nf).first()).toBeVisible();
    await page.keyboard.press('Escape');
  });

  const pipeline = await api.until('the stored chain', async () => {
    const { items } = await api.ok('GET', '/pipelines');
    return items.find((each: { draft: { name: string } }) => each.draft.name === 'walk') ?? null;
  });

  await test.step('4 apply: deploy and follow the operation', async () => {
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await expect(page.getByRole('tabpanel').getByText('completed').first()).toBeVisible({ timeout: 30_000 });
    await expect(page.getByRole('main').getByText('running', { exact: true }).first()).toBeVisible();
  });

  const instance = (node: string) => `walk.${ids[node]}.0`;
  const send = async (request: object) => {
    const job = await api.ok('POST', '/twin/traffic', request);
    return api.until('end of the traffic', async () => {
      const now = await api.ok('GET', `/twin/traffic/${job.id}`);
      return ['completed', 'failed', 'stopped'].includes(now.state) ? now : null;
    });
  };
  const settled = (before: Record<string, number>, changed: string[]) =>
    api.until(`packets counted by ${changed.join(', ')}`, async () => {
      const now = await api.packetsIn();
      return changed.every((id) => (now[id] ?? 0) > (before[id] ?? 0)) ? now : null;
    });

  await test.step('5 run: a page request is answered and crosses the safe branch only', async () => {
    const capture = await api.ok('POST', '/twin/captures', {
      host: 'web-1',
      filter: 'tcp dst port 80',
      packets: 50,
      duration_s: 20,
    });
    await api.until('the running capture', async () =>
      (await api.ok('GET', `/twin/captures/${capture.id}`)).state === 'running' ? true : null,
    );
    const before = await api.packetsIn();
    const traffic = await send({ kind: 'http', from: 'client-1', to: 'web-1', count: 10, rate_per_s: 50 });
    expect(traffic).toMatchObject({ state: 'completed', received: 10, errors: 0 });
    const after = await settled(before, [instance('ids'), instance('firewall'), instance('nat')]);
    const counted = after[instance('ids')]! - (before[instance('ids')] ?? 0);
    expect(counted).toBeGreaterThanOrEqual(40);
    expect(after[instance('limiter')]).toBe(before[instance('limiter')] ?? 0);

    const seen = await api.until('the sink host’s capture', async () => {
      const now = await api.ok('GET', `/twin/captures/${capture.id}`);
      return now.packets.length > 0 || now.state === 'completed' ? now : null;
    });
    expect(seen.packets.length).toBeGreaterThan(0);
    for (const packet of seen.packets) expect(packet.src).toMatch(NAT_ADDRESS);
  });

  await test.step('5 run: an attack takes the unsafe branch', async () => {
    const before = await api.packetsIn();
    const traffic = await send({
      kind: 'http',
      from: 'client-1',
      to: 'web-1',
      path: '/login?user=x%27%20or%201=1',
      body: "user=' or 1=1 union select password from users",
      count: 5,
      rate_per_s: 50,
    });
    expect(traffic).toMatchObject({ state: 'completed', received: 5 });
    const after = await settled(before, [instance('limiter')]);
    expect(after[instance('limiter')]! - (before[instance('limiter')] ?? 0)).toBeGreaterThanOrEqual(5);
  });

  await test.step('6 to 8 measure, judge, show: the chart moves and the objective has a measured value', async () => {
    const probe = await api.ok('POST', '/twin/traffic', {
      kind: 'probe',
      from: 'client-1',
      to: 'web-1',
      rate_per_s: 100,
    });
    await page.getByRole('tab', { name: 'Live' }).click();
    const row = page.getByRole('table', { name: 'Objectives' }).getByRole('row').nth(1);
    await expect(row).toContainText(/\d\s*(µs|ms)/);
    await expect(row.getByRole('cell').last()).toContainText(/\d/, { timeout: 20_000 });
    await expect(
      page
        .getByRole('tabpanel')
        .getByText(/[1-9][\d.]*\s*k?pkt\/s/)
        .first(),
    ).toBeVisible();
    const chart = page.getByRole('tabpanel').locator('canvas').first();
    const picture = await chart.evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
    await expect.poll(() => chart.evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL())).not.toBe(picture);
    await api.ok('DELETE', `/twin/traffic/${probe.id}`);
  });

  await test.step('what was deployed can be taken down', async () => {
    const operation = await api.ok('DELETE', `/deployments/${pipeline.id}`);
    await api.until('the end of the undeployment', async () =>
      (await api.ok('GET', `/operations/${operation.id}`)).state === 'COMPLETED' ? true : null,
    );
    const { items } = await api.ok('GET', '/nf-instances');
    expect(items).toEqual([]);
  });
});
