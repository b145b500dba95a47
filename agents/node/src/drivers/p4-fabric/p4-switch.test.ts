import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../package-root.js';
import { splitSpec } from '../../testing/switch-flows.js';
import { OwnSwitch } from '../p4-own/own-switch.js';
import { ProgrammableSwitch } from '../p4-switch/programmable-switch.js';
import { canonicalBytes } from '../p4runtime/bytes.js';
import type { Entity, Notice, TableEntry, Update } from '../p4runtime/messages.js';
import { P4RuntimeClient, P4RuntimeError } from '../p4runtime/p4runtime-client.js';
import { identityOf } from '../p4runtime/table-entries.js';
import { switchP4 } from '../switch-p4/switch-p4.js';
import { FabricProgram } from './fabric-program.js';
import { P4Switch } from './p4-switch.js';
import type { SwitchControl } from './switch-control.js';

const PROGRAM = new FabricProgram(resolve(PACKAGE_ROOT, '../../twin/p4/fabric'));
const PORTS = ['p1', 'p2', 'p3'];

/** A switch that holds what it is told to. */
class Device extends P4RuntimeClient {
  readonly entries = new Map<string, TableEntry>();
  readonly acknowledged: string[] = [];
  tell: (notice: Notice) => void = () => undefined;
  digest: Entity | null = null;
  /** Of `Write`s with updates, so far. */
  writes = 0;
  /** While it is set, such a `Write` takes until it is resolved. */
  slow: Promise<void> | null = null;
  refusal: Error | null = null;
  hasOtherController = false;
  hasOtherProgram = false;

  override listen(listener: (notice: Notice) => void) {
    this.tell = listener;
  }
  override async pipelineCookie() {
    return this.hasOtherProgram ? '1' : (await PROGRAM.load()).cookie;
  }
  override acknowledge({ listId }: { readonly listId: string }) {
    this.acknowledged.push(listId);
  }
  override async write(updates: readonly Update[]) {
    if (this.hasOtherController) throw new P4RuntimeError('another controller has it', 6);
    if (updates.length === 0) return;
    this.writes++;
    await this.slow;
    if (this.refusal) throw this.refusal;
    for (const { type, entity } of updates) {
      if (entity.digestEntry) this.digest = entity;
      if (!entity.tableEntry) continue;
      const identity = identityOf(entity.tableEntry);
      if (type === 'DELETE') this.entries.delete(identity);
      else this.entries.set(identity, entity.tableEntry);
    }
  }
  override async read([first]: readonly Entity[]): Promise<Entity[]> {
    if (first?.digestEntry) return this.digest ? [this.digest] : [];
    return first?.tableEntry ? [...this.entries.values()].map((tableEntry) => ({ tableEntry })) : [];
  }
}

async function keeping(capacity = 100_000) {
  const device = new Device('unix:/none', '1');
  const ports = new Map(PORTS.map((name, i) => [name, { number: i + 1 }]));
  const driver = new P4Switch(device, PROGRAM, ports, 'a switch');
  const spec = splitSpec(1, switchP4.abilities, 0x8000, { capacity, idle_timeout_s: 300 });
  const observed = PORTS.map((name, i) => ({ name, number: i + 1, up: true }));
  await driver.apply(spec, observed);
  const { info } = await PROGRAM.load();
  const digestId = info.digests.get('new_flow_t')!.id;
  let lists = 0;
  const tell = (...flows: number[]) => {
    lists += 1;
    const data = flows.map((flow) => {
      const values = [7, flow, 0x0a00_0001, 0x0a00_0002, 17, 0x020e_0001_0000, 2];
      return { struct: { members: values.map((value) => ({ bitstring: canonicalBytes(value) })) } };
    });
    device.tell({ digest: { digestId, listId: String(lists), data } });
  };
  return { device, driver, tell };
}
const kept = async (driver: P4Switch) => (await driver.read()).kept?.length;

it('reads while a switch that writes slowly is told more flows than it takes: one write is waited for', async () => {
  const { device, driver, tell } = await keeping();
  const before = device.writes;
  let goOn: () => void = () => undefined;
  device.slow = new Promise((resolve_) => {
    goOn = resolve_;
  });
  for (let times = 0; times < 2; times++) for (let flow = 0; flow < 2500; flow++) tell(flow);
  const reading = driver.read();
  await expect.poll(() => device.writes).toBe(before + 1);
  goOn();
  device.slow = null;
  await reading;
  expect(device.writes).toBeLessThanOrEqual(before + 2);
  await expect.poll(() => kept(driver), { timeout: 10_000 }).toBe(2000);
  expect(device.writes).toBeLessThanOrEqual(before + 4);
  expect((await driver.read()).unkept).toEqual({ 'more began than entries can be written': 1000 });
});

it('tells which flows got no entry, and does not have those forgotten', async () => {
  const { device, driver, tell } = await keeping(2);
  tell(1, 2);
  await expect.poll(() => kept(driver)).toBe(2);
  tell(3, 4, 5);
  await expect.poll(async () => (await driver.read()).unkept).toEqual({ 'their split has no room': 3 });
  expect(device.acknowledged).toEqual(['1']);
});

it('names the flows of a split that it keeps, without those that have ended', async () => {
  const { device, driver, tell } = await keeping();
  tell(1, 2);
  await expect.poll(() => kept(driver)).toBe(2);
  const flow = { ip_src: 0x0a00_0001, ip_dst: 0x0a00_0002, ip_proto: 17 };
  const names = [1, 2].map((flow_id) => ({ flow_id, ...flow }));
  expect(await driver.kept(7)).toEqual(names);
  expect(await driver.kept(8)).toEqual([]);
  for (const [identity, entry] of device.entries)
    if (entry.idleTimeoutNs) {
      device.entries.set(identity, { ...entry, timeSinceLastHit: { elapsedNs: entry.idleTimeoutNs } });
      break;
    }
  expect(await driver.kept(7)).toEqual(names.slice(1));
  // Its driver is changing: nobody may take them for ended.
  device.hasOtherProgram = true;
  const own = new OwnSwitch(device, new Map());
  for (const any of [driver, new ProgrammableSwitch(driver, own)])
    await expect(any.kept(7)).rejects.toThrow('it does not run the program of the fabric now');
});

it('says that flows are not kept while another controller has the switch, and when it refuses their entries', async () => {
  const { device, driver, tell } = await keeping();
  expect((await driver.read()).trouble).toBeUndefined();
  device.hasOtherController = true;
  expect((await driver.read()).trouble).toBe('flows that begin are not kept: another controller has it');
  device.hasOtherController = false;
  expect((await driver.read()).trouble).toBeUndefined();
  device.refusal = new Error('no more entries');
  tell(1, 2);
  await expect.poll(async () => (await driver.read()).trouble).toBe('flows that begin are not kept: no more entries');
  const { trouble, unkept } = await driver.read();
  expect([trouble, unkept]).toEqual([undefined, { 'the switch refused their entries': 2 }]);
});

it('misses the digest that another client switched off or changed, and sets it again', async () => {
  const { device, driver } = await keeping();
  const set = device.digest;
  expect((await driver.read()).drift).toEqual([]);
  device.digest = null;
  expect((await driver.read()).drift).toEqual(['telling of new flows was switched off or changed']);
  const spec = splitSpec(1, switchP4.abilities, 0x8000, { capacity: 9, idle_timeout_s: 300 });
  const observed = PORTS.map((name, i) => ({ name, number: i + 1, up: true }));
  await driver.apply(spec, observed);
  expect(device.digest).toEqual(set);
});

it('has the ports that the switch says it has, not those that it was to be given', async () => {
  const opened = new Map<number, { interface: string; up: boolean }>();
  const control = { ports: async () => opened } as unknown as SwitchControl;
  const ports = new Map([
    ['p1', { number: 1, interface: 'lo' }],
    ['p2', { number: 2 }],
  ]);
  class Silent extends Device {
    override async capabilities() {
      return '1.3';
    }
  }
  const driver = new P4Switch(new Silent('unix:/none', '1'), PROGRAM, ports, 'a switch', control);
  const observe = async () => (await driver.ports(['p1', 'p2', 'p3'])).map(({ number, up }) => [number, up]);
  const none = [null, false];
  expect(await observe()).toEqual([none, none, none]);
  opened.set(1, { interface: 'elsewhere', up: true }).set(2, { interface: 'any', up: true });
  expect(await observe()).toEqual([none, [2, true], none]);
  opened.set(2, { interface: 'any', up: false });
  expect(await observe()).toEqual([none, [2, false], none]);
});
