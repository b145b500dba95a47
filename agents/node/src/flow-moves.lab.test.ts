import { type AgentMethod, FlowExport, type FlowSelector, type NodeSpec } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { Lab, labMissing, NODE_MAC, type Packet } from './testing/lab.js';
import { linearChain, splitChain } from './testing/specs.js';

const missing = labMissing();

const GATEWAY = '02:00:00:00:00:fe';
const EXTERNAL = '198.18.0.1';
const NAT = 'lin.nat.0';
const FIRST = 6000;
const FLOWS = 40;

function chain(): NodeSpec {
  const spec = linearChain(1);
  spec.instances[1]!.config = { external_addresses: [EXTERNAL] };
  return { ...spec, nic: { iface: 'e0', mac: NODE_MAC }, gateway_mac: GATEWAY };
}

/** A server of its own: agent, engine and the same chain. */
class Server {
  readonly lab = new Lab();
  private calls = 0;

  async start(): Promise<this> {
    await this.lab.setUp();
    this.lab.startAgent();
    await this.lab.server.next('hello');
    this.lab.server.send({ type: 'desired', spec: chain() });
    await this.lab.server.next(
      'observed',
      ({ observed }) => observed.state === 'converged' && observed.generation === 1,
      25_000,
    );
    return this;
  }

  async call(method: AgentMethod, params: Record<string, unknown>) {
    const id = `${method}-${this.calls++}`;
    this.lab.server.send({ type: 'call', id, method, instance_id: NAT, params });
    const { result, error } = await this.lab.server.next('reply', (reply) => reply.id === id);
    if (error !== null) throw new Error(error);
    return result as Record<string, unknown>;
  }

  /** A packet of each of these connections from the inside, as it leaves. */
  forward(sport: number, count = 1): Promise<Packet[]> {
    return this.lab.exchange({ hop: 1, count, expect: count, sport });
  }

  /** The reply to what left, as it arrives inside. */
  reply(to: Packet): Promise<Packet[]> {
    const back = { src: '10.0.2.2', sport: 80, dst: EXTERNAL, dport: to.sport };
    return this.lab.exchange({ hop: 2, count: 1, expect: 1, ...back });
  }

  async mappings(): Promise<number[]> {
    const { mappings } = (await this.call('get_instance_state', {})) as { mappings: { internal_port: number }[] };
    return mappings.map(({ internal_port }) => internal_port).sort((a, b) => a - b);
  }
}

const ports = Array.from({ length: FLOWS }, (_, i) => FIRST + i);

describe.skipIf(missing !== null)(
  `flows that move between servers${missing ? ` (${missing})` : ''}`,
  { timeout: 90_000 },
  () => {
    it('go on where they went, none is in both, and those that were not selected stay', async () => {
      const [from, to] = await Promise.all([new Server().start(), new Server().start()]);
      const before = await from.forward(FIRST, FLOWS);
      expect(before).toHaveLength(FLOWS);
      const flows: FlowSelector = { match: [{ field: 'port.src', lo: 6000, hi: 6019, not: false }] };
      const chosen = ports.slice(0, 20);
      const stay = ports.slice(20);

      const copy = async (since?: string) => {
        const portion = FlowExport.parse(await from.call('export_flows', { flows, ...(since && { since }) }));
        expect(portion.last).toBe(true);
        expect(await to.call('import_state', { state: portion.state, renew: true })).toMatchObject({ left_out: 0 });
        return portion;
      };
      const first = await copy();
      expect(first.rows).toBe(20);
      // Packets of a flow that is copied still come here: what they change is copied, and it is not released.
      await from.forward(6003);
      expect((await copy(first.portion)).rows).toBe(1);
      expect(await from.call('release_flows', { flows, portion: first.portion })).toEqual({ released: 19, kept: 1 });
      const last = await copy();
      expect(await from.call('release_flows', { flows, portion: last.portion })).toEqual({ released: 1, kept: 0 });

      expect(await from.mappings()).toEqual(stay);
      expect(await to.mappings()).toEqual(chosen);
      // Both directions of a moved connection, by the same external port; nobody answers for it where it was.
      const moved = before[5]!;
      expect(await to.reply(moved)).toMatchObject([{ dst: '10.0.1.2', dport: 6005, intact: true }]);
      expect(await to.forward(6005)).toMatchObject([{ src: EXTERNAL, sport: moved.sport }]);
      const back = {
        hop: 2,
        count: 1,
        expect: 1,
        seconds: 0.5,
        src: '10.0.2.2',
        sport: 80,
        dst: EXTERNAL,
        dport: moved.sport,
      };
      expect(await from.lab.exchange(back)).toEqual([]);
      expect(await from.reply(before[30]!)).toMatchObject([{ dport: 6030 }]);
    });

    it('are all in the other engine when that of the first is killed, and can be copied again to one that was', async () => {
      const [from, to] = await Promise.all([new Server().start(), new Server().start()]);
      const before = await from.forward(FIRST, 10);
      const flows: FlowSelector = { match: [] };
      const portion = FlowExport.parse(await from.call('export_flows', { flows }));
      const { tables } = await to.call('import_state', { state: portion.state, renew: true });

      const killed = to.lab.enginePid()!;
      process.kill(killed, 'SIGKILL');
      const { observed } = await to.lab.server.next(
        'observed',
        ({ observed: { state, engine_pid } }) => state === 'converged' && engine_pid !== null && engine_pid !== killed,
        25_000,
      );
      expect(observed.engine).toBe('running');
      // It has begun anew, says so, and the first still has all.
      const again = FlowExport.parse(await from.call('export_flows', { flows }));
      expect(again.rows).toBe(10);
      const reply = await to.call('import_state', { state: again.state, renew: true });
      expect(reply.left_out).toBe(0);
      expect(reply.tables).not.toBe(tables);

      process.kill(from.lab.enginePid()!, 'SIGKILL');
      for (const packet of [before[0]!, before[9]!])
        expect(await to.reply(packet)).toMatchObject([{ dst: '10.0.1.2', intact: true }]);
      await expect(to.call('release_flows', { flows, portion: again.portion })).rejects.toThrow('another table');
    });

    it('are refused by name where a selector asks for what the flows are not known by', async () => {
      const server = await new Server().start();
      const ask = (flows: unknown) => server.call('export_flows', { flows });
      await expect(ask({ match: [{ field: 'port.dst', lo: 1, hi: 2 }] })).rejects.toThrow('/flows/match/0/field');
      await expect(ask({ match: [{ field: 'port.src', lo: 3, hi: 2 }] })).rejects.toThrow('/params/flows/match/0/hi');
      await expect(server.call('release_flows', { flows: {} })).rejects.toThrow('/params/portion');
    });

    it('wait at the split before their instances while they move, and none is lost or counted twice', async () => {
      const lab = new Lab();
      await lab.setUp();
      lab.startAgent();
      await lab.server.next('hello');
      const spec = splitChain(1, [
        ['lin.mon.0', 0, 65_535],
        ['lin.mon.1', 65_535, 65_536],
      ]);
      lab.server.send({ type: 'desired', spec });
      await lab.server.next(
        'observed',
        ({ observed }) => observed.state === 'converged' && observed.generation === 1,
        25_000,
      );
      let calls = 0;
      const call = async (method: AgentMethod, instance_id: string, params: Record<string, unknown>) => {
        const id = `call-${calls++}`;
        lab.server.send({ type: 'call', id, method, instance_id, params });
        const { result, error } = await lab.server.next('reply', (reply) => reply.id === id);
        if (error !== null) throw new Error(error);
        return result as Record<string, unknown>;
      };
      const counted = async (instance: string) => {
        const { flows } = (await call('get_instance_state', instance, {})) as {
          flows: { src_port: number; packets: number }[];
        };
        return new Map(flows.map(({ src_port, packets }) => [src_port, packets]));
      };
      const flows: FlowSelector = { match: [{ field: 'port.src', lo: FIRST, hi: FIRST + 19, not: false }] };
      const [from, to] = ['lin.mon.0', 'lin.mon.1'].map((instance_id) => ({ kind: 'instance', instance_id }));
      const traffic = { hop: 1, count: FLOWS, expect: FLOWS, sport: FIRST };
      expect(await lab.exchange(traffic)).toHaveLength(FLOWS);
      expect((await counted('lin.mon.0')).size).toBe(FLOWS);

      const copy = async (since?: string) => {
        const wanted = { flows, ...(since && { since }) };
        const portion = FlowExport.parse(await call('export_flows', 'lin.mon.0', wanted));
        await call('import_state', 'lin.mon.1', { state: portion.state, renew: true });
        return portion;
      };
      const first = await copy();
      expect(first.rows).toBe(20);
      await call('hold_flows', 'lin.fw.0', { flows, from, to, hold_ms: 2000 });
      const passing = lab.exchange(traffic);
      const others = (samples: { instances: { instance_id: string; packets_in: number }[] }) =>
        samples.instances.find(({ instance_id }) => instance_id === 'lin.mon.0')?.packets_in ?? 0;
      // Those of the flows that stay arrive, the others wait.
      await lab.server.next('samples', ({ samples }) => others(samples) >= 2 * FLOWS - 20, 1500).catch(() => undefined);
      const last = await copy(first.portion);
      const end = await call('end_hold', 'lin.fw.0', { from, to, steer: true });
      expect(end).toMatchObject({ flows: 20, table_full: false });
      expect(await passing).toHaveLength(FLOWS);
      const released = await call('release_flows', 'lin.mon.0', { flows, portion: last.portion });
      expect(released).toEqual({ released: 20, kept: 0 });
      expect(await lab.exchange(traffic)).toHaveLength(FLOWS);
      expect(await counted('lin.mon.0')).toEqual(new Map(ports.slice(20).map((port) => [port, 3])));
      expect(await counted('lin.mon.1')).toEqual(new Map(ports.slice(0, 20).map((port) => [port, 3])));

      await expect(call('end_hold', 'lin.fw.0', { from, to, steer: true })).rejects.toThrow(/no packets wait/);
      const nowhere = { kind: 'hop', hop: 77 };
      await expect(call('hold_flows', 'lin.fw.0', { flows, from, to: nowhere, hold_ms: 9 })).rejects.toThrow(
        /no split/,
      );
    });
  },
);
