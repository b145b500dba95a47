import { resolve } from 'node:path';
import { flowIdentity } from '@orrery/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PACKAGE_ROOT } from '../../package-root.js';
import { bmv2Missing, P4Lab, p4Missing } from '../../testing/p4-lab.js';
import { flowFrames, handedOver, type Keep, splitSpec, waysOf } from '../../testing/switch-flows.js';
import { exchange } from '../../testing/switch-lab.js';
import { ENDS, PORTS } from '../../testing/switch-programs.js';
import { P4RuntimeClient } from '../p4runtime/p4runtime-client.js';
import { switchP4 } from '../switch-p4/switch-p4.js';
import { FabricProgram } from './fabric-program.js';

const LIMIT_MS = 120_000;
const WAIT = { timeout: 30_000 };

describe.each([
  { kind: 'p4' as const, missing: p4Missing() },
  { kind: 'bmv2' as const, missing: bmv2Missing() },
])('flows kept by $kind', ({ kind, missing }) => {
  async function setUp() {
    const lab = new P4Lab(kind);
    await lab.setUp(PORTS);
    const driver = lab.make();
    let generation = 0;
    const put = async (border: number, { capacity = 100, idle_timeout_s = 300 }: Partial<Keep> = {}) => {
      generation += 1;
      const spec = splitSpec(generation, switchP4.abilities, border, { capacity, idle_timeout_s });
      await driver.apply(spec, await driver.ports(PORTS));
    };
    const ways = async (...flows: number[]) => waysOf(flows, await exchange(lab, PORTS, flowFrames(flows), ENDS));
    const other = () => {
      const client = new P4RuntimeClient(`unix:${lab.socket}`, '1');
      onTestFinished(() => client.close());
      return client;
    };
    const kept = () => expect.poll(async () => (await driver.read()).kept?.length, WAIT);
    const drift = () => expect.poll(async () => (await driver.read()).drift, WAIT);
    return { lab, driver, put, ways, other, kept, drift };
  }
  const test = (text: string, run: (bench: Awaited<ReturnType<typeof setUp>>) => Promise<void>) =>
    it.skipIf(missing)(`${text}${missing ? ` (${missing})` : ''}`, async () => run(await setUp()), LIMIT_MS);

  test('are told again when their split has room, and fewer when it has less', async ({ driver, put, ways, kept }) => {
    await put(0xffff, { capacity: 1 });
    await ways(1);
    await kept().toBe(1);
    await ways(2, 3);
    await expect.poll(async () => (await driver.read()).unkept, WAIT).toEqual({ 'their split has no room': 2 });
    await put(0xffff, { capacity: 3 });
    // Not before a tenth of a second after they were told first.
    await expect
      .poll(async () => {
        expect(await ways(2, 3)).toEqual(['p2', 'p2']);
        return (await driver.read()).kept?.length;
      }, WAIT)
      .toBe(3);
    await put(1, { capacity: 2 });
    // The first had its last packet before the others.
    expect((await driver.read()).kept).toHaveLength(2);
    expect(await ways(1, 2, 3)).toEqual(['p3', 'p2', 'p2']);
  });

  test('are none while another controller has the switch, which is said', async ({
    driver,
    put,
    ways,
    other,
    kept,
  }) => {
    await put(0xffff, {});
    const rival = other();
    await rival.write([]);
    const trouble = () => expect.poll(async () => (await driver.read()).trouble ?? null, WAIT);
    await trouble().toMatch(/^flows that begin are not kept: .*another controller has it/);
    await ways(1);
    expect((await driver.read()).kept).toEqual([]);
    rival.close();
    await trouble().toBeNull();
    await expect
      .poll(async () => {
        await ways(1);
        return (await driver.read()).kept?.length;
      }, WAIT)
      .toBe(1);
    await kept().toBe(1);
  });

  test('are told again after another client has switched that off', async ({
    driver,
    put,
    ways,
    other,
    kept,
    drift,
  }) => {
    await put(0xffff, {});
    expect((await driver.read()).drift).toEqual([]);
    const rival = other();
    const { info } = await new FabricProgram(resolve(PACKAGE_ROOT, '../../twin/p4/fabric')).load();
    const { id: digestId } = info.digests.get('new_flow_t')!;
    await rival.write([{ type: 'DELETE', entity: { digestEntry: { digestId } } }]);
    rival.close();
    await drift().toEqual(['telling of new flows was switched off or changed']);
    await expect.poll(() => put(0xffff, {}).then(() => 'written', String), WAIT).toBe('written');
    await drift().toEqual([]);
    await ways(1);
    await kept().toBe(1);
  });

  test('begin anew with the switch', async ({ lab, driver, put, ways, kept, drift }) => {
    await put(0xffff, {});
    await ways(1, 2);
    await kept().toBe(2);
    await lab.kill();
    await lab.start();
    await expect
      .poll(async () => (await driver.read().catch(() => null))?.drift, WAIT)
      .toEqual(['the program was replaced: every entry is gone']);
    await put(0xffff, {});
    await drift().toEqual([]);
    await ways(2);
    await kept().toBe(1);
  });

  test('are taken over from an engine: none changes its way, no packet is lost, and each ends when it is idle', async ({
    lab,
    driver,
    ways,
  }) => {
    const old = [...Array(120).keys()];
    const { frame } = flowFrames([0])[0]!;
    const address = (at: number) => frame.subarray(at, at + 4).join('.');
    const pair = { 'ip.src': address(26), 'ip.dst': address(30), 'ip.proto': 17 };
    const identity = (flow: number) =>
      flowIdentity({ ...pair, 'port.src': 1000 + flow, 'port.dst': frame.readUInt16BE(36) });
    const whole = splitSpec(1, switchP4.abilities, 0xffff, null);
    await driver.apply(whole, await driver.ports(PORTS));
    expect(await ways(...old)).toEqual(old.map(() => 'p2'));
    const exceptions = old.flatMap((flow) => {
      const [ip_src, ip_dst] = [frame.readUInt32BE(26), frame.readUInt32BE(30)];
      if (identity(flow) < 0x8000) return [];
      return [
        {
          ...{ rule_id: 'classify/c.e1', split: 7, flow_id: identity(flow), ip_src, ip_dst, ip_proto: 17 },
          ...{ mac: '02:0e:00:01:00:00', port: 'p2', idle_timeout_s: 2 },
        },
      ];
    });
    expect(exceptions.length).toBeGreaterThan(30);
    const spec = handedOver(splitSpec(2, switchP4.abilities, 0x8000, null), exceptions);
    const ports = await driver.ports(PORTS);
    const [, during] = await Promise.all([driver.apply(spec, ports), ways(...old)]);
    expect(during).toEqual(old.map(() => 'p2'));
    expect(await ways(...old)).toEqual(old.map(() => 'p2'));
    const began = [...Array(80).keys()].map((i) => 200 + i);
    const ranges = began.map((flow) => (identity(flow) < 0x8000 ? 'p2' : 'p3'));
    expect(await ways(...began)).toEqual(ranges);
    expect(Math.abs(ranges.filter((way) => way === 'p2').length - 40)).toBeLessThan(20);
    // Another agent takes over what is there, and writes none of those again that have ended.
    const next = lab.make();
    await next.apply(spec, ports);
    await expect.poll(async () => (await next.read()).kept, WAIT).toEqual([]);
    await next.apply(spec, ports);
    expect((await next.read()).kept).toEqual([]);
    expect(await ways(...old)).toEqual(old.map((flow) => (identity(flow) < 0x8000 ? 'p2' : 'p3')));
  });
});
