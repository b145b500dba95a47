import { ensureRunning, runToEnd } from '../support/applications.js';
import { Editor } from '../support/editor.js';
import { expect, type Taken, test } from '../support/orrery.js';

const NAT_ADDRESS = /^198\.(18|19)\./;
/**
 * Minimum number of frames that a client sends for one request on its own connection: SYN, request, FIN; ACKs may be
 * piggybacked.
 */
const FRAMES_A_REQUEST = 3;
/**
 * Longest TCP frame without payload: Ethernet 14, IPv4 20, TCP 20 and at most 20 of options as Linux sends them here.
 */
const EMPTY_FRAME_BYTES = 74;
const ATTACK_BODY = "user=' or 1=1 union select password from users";

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
    // The editor's own scripts are loaded first.
    await expect(editor.canvas).toBeVisible({ timeout: 60_000 });
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

  await test.step('2 check: two branches for the same packet are refused until filters separate them', async () => {
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
    await expect(page.getByRole('heading', { name: 'Plan of Walk' })).toBeVisible();
    for (const nf of ['ids', 'firewall', 'rate-limiter', 'nat'])
      await expect(page.getByRole('button', { name: nf, exact: true })).toBeVisible();
    await page.getByRole('link', { name: 'Editor' }).click();
    await expect(editor.canvas).toBeVisible();
  });

  const chain = await api.until('the stored chain', async () => {
    const { items } = await api.ok('GET', '/chains');
    return items.find((each: { draft: { name: string } }) => each.draft.name === 'walk') ?? null;
  });

  await test.step('4 apply: deploy and follow the operation', async () => {
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await expect(page.getByRole('tabpanel').getByText('completed').first()).toBeVisible({ timeout: 30_000 });
    await expect(page.getByRole('main').getByText('running', { exact: true }).first()).toBeVisible();
  });

  const instance = (node: string) => `walk.${ids[node]}.0`;
  await ensureRunning(api, 'web-1-http', { kind: 'http-server', node: 'web-1', config: {} });
  await ensureRunning(api, 'web-1-probes', { kind: 'probe-server', node: 'web-1', config: {} });
  const send = (config: object) =>
    runToEnd(api, 'requests', { kind: 'http-client', node: 'client-1', config: { to: 'web-1', ...config } });
  /** What each NF of the chain has received since `before`, once `isAll` is satisfied. */
  const takenSince = (before: Record<string, Taken>, isAll: (now: Record<string, Taken>) => boolean) =>
    api.until('packets of the traffic at each NF of its path', async () => {
      const now = await api.taken();
      expect(Object.keys(now).sort()).toEqual(Object.keys(ids).map(instance).sort());
      const since = Object.fromEntries(
        Object.keys(ids).map((nf) => {
          const { packets = 0, bytes = 0 } = before[instance(nf)] ?? {};
          const after = now[instance(nf)]!;
          return [nf, { packets: after.packets - packets, bytes: after.bytes - bytes }];
        }),
      );
      return isAll(since) ? since : null;
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
    const before = await api.taken();
    const requests = 10;
    const traffic = await send({ count: requests, rate_per_s: 50 });
    expect(traffic).toMatchObject({ state: 'completed', received: requests, errors: 0 });
    const sent = requests * FRAMES_A_REQUEST;
    // The NAT also receives the replies: at least a SYN-ACK, the answer and a FIN per request.
    const taken = await takenSince(
      before,
      ({ ids, firewall, nat }) =>
        ids!.packets >= sent && firewall!.packets === ids!.packets && nat!.packets >= ids!.packets + 3 * requests,
    );
    expect(taken.limiter).toEqual({ packets: 0, bytes: 0 });

    const seen = await api.until('the sink host’s capture', async () => {
      const now = await api.ok('GET', `/twin/captures/${capture.id}`);
      return now.packets.length > 0 || now.state === 'completed' ? now : null;
    });
    expect(seen.packets.length).toBeGreaterThan(0);
    for (const packet of seen.packets) expect(packet.src).toMatch(NAT_ADDRESS);
  });

  await test.step('5 run: an attack takes the unsafe branch', async () => {
    const before = await api.taken();
    const requests = 5;
    const traffic = await send({
      path: '/login?user=x%27%20or%201=1',
      body: ATTACK_BODY,
      count: requests,
      rate_per_s: 50,
    });
    expect(traffic).toMatchObject({ state: 'completed', received: requests });
    // A SYN is still safe, and so is an ACK before the request; from the attack on, the whole flow is unsafe.
    const taken = await takenSince(
      before,
      ({ ids, firewall, limiter, nat }) =>
        firewall!.packets >= requests &&
        limiter!.packets >= requests * (FRAMES_A_REQUEST - 1) &&
        firewall!.packets + limiter!.packets === ids!.packets &&
        nat!.packets >= ids!.packets + 3 * requests,
    );
    const { firewall, limiter } = taken;
    expect(limiter!.bytes).toBeGreaterThan(requests * ATTACK_BODY.length);
    expect(firewall!.bytes, 'the firewall received frames with payload').toBeLessThanOrEqual(
      firewall!.packets * EMPTY_FRAME_BYTES,
    );
  });

  await test.step('6 to 8 measure, judge, show: the chart moves and the objective has a measured value', async () => {
    const config = { to: 'web-1', rate_per_s: 100 };
    await ensureRunning(api, 'latency', { kind: 'probe', node: 'client-1', config });
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
    for (const title of ['Rate', 'Latency']) {
      await page.getByRole('button', { name: `${title}: table` }).click();
      const figures = page.getByRole('table', { name: `${title}, table` }).getByRole('cell');
      await expect
        .poll(
          async () =>
            (await figures.allTextContents()).filter((text) => /^[\d.,]*[1-9]/.test(text) && /[a-zµ]/.test(text))
              .length,
          `${title}: values other than 0`,
        )
        .toBeGreaterThanOrEqual(5);
      await page.getByRole('button', { name: `${title}: chart` }).click();
    }
    await api.ok('DELETE', '/applications/latency');
  });

  await test.step('the deployment can be removed', async () => {
    const operation = await api.ok('DELETE', `/deployments/${chain.id}`);
    await api.until('the end of the undeployment', async () =>
      (await api.ok('GET', `/operations/${operation.id}`)).state === 'COMPLETED' ? true : null,
    );
    const { items } = await api.ok('GET', '/nf-instances');
    expect(items).toEqual([]);
  });
});
