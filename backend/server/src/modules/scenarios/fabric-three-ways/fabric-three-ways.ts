import { ChainDefinition } from '@orrery/contract';
import { z } from 'zod';
import { requireIpv4 } from '../address.js';
import type { Api } from '../api-caller.js';
import { type Count, readAnew, since, total } from '../counted.js';
import { deployChain } from '../deploy-chain.js';
import { changeDrivers, type Driver, driversNow, patiently, whyNot } from '../drivers.js';
import { nfOf, receiver, seedOf, sender } from '../fields.js';
import { captureOf, generate } from '../frames.js';
import { driverThere, freeNames, freeTraffic, hosts, nfs, runningTwin, twinSwitch } from '../needs.js';
import { framesApart, replay } from '../replay.js';
import { defineScenario, type ScenarioStep, type Stage } from '../scenario.js';
import { countersApart, type Observation } from './observation.js';

const CHAIN = 'scenario-three-ways';
/** The first is what the others are compared with. */
const DRIVERS: readonly Driver[] = ['ovs', 'p4', 'bmv2'];
const EVERY = { query: { limit: 1000 } };

const Parameters = z.object({
  from: sender('client-3'),
  to: receiver('web-1'),
  nf: nfOf('monitor'),
  length: z.int().min(1).max(4).default(2).meta({ title: 'Length of the chain', unit: 'NFs' }),
  frames: z.int().min(10).max(5000).default(400).meta({ title: 'Length of the capture', unit: 'frames' }),
  rate_pps: z.number().min(10).max(2000).default(200).meta({ title: 'Frame rate', unit: 'frames/s' }),
  seed: seedOf('ports, protocols and lengths of frames'),
});
type Parameters = z.output<typeof Parameters>;

interface Memory {
  chain: string;
  capture: string;
  readonly observations: Observation[];
  /** Why a driver was left out. */
  readonly leftOut: Map<Driver, string>;
}

/** One chain and one capture over every kind of switch. */
export const FABRIC_THREE_WAYS = defineScenario({
  id: 'fabric-three-ways',
  title: 'One chain over three kinds of switches',
  summary:
    'Sends one capture through one chain three times: over Open vSwitch, over the built-in P4 switch, and over BMv2 where the machine has it. Frames that arrive and what rules and NFs count have to be the same. All switches of the twin change their drivers, which pauses other traffic for a moment, and get them back at the end.',
  source: '',
  duration_s: 60,
  role: 'admin',
  watch: 'topology',
  parameters: Parameters,
  faults: ({ from, to }) =>
    from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : [],
  needs: (parameters) => [
    runningTwin(),
    twinSwitch(),
    driverThere('p4'),
    nfs(parameters.nf),
    hosts(parameters.from, parameters.to),
    freeNames(CHAIN),
    freeTraffic(async (api) => [definitionOf(await endsOf(api, parameters), parameters)]),
  ],
  steps: (parameters) => {
    const memory: Memory = { chain: '', capture: '', observations: [], leftOut: new Map() };
    return [
      {
        title: `Deploy ${parameters.length} × ${parameters.nf}`,
        async run(stage) {
          await stage.make('switch-drivers', await driversNow(stage.api));
          const ends = await endsOf(stage.api, parameters);
          const file = captureOf(generate(parameters.seed, parameters.frames, ends));
          memory.capture = await stage.make('pcap', { name: CHAIN, base64: file.toString('base64') });
          memory.chain = await stage.make('chain', definitionOf(ends, parameters));
          await deployChain(stage, memory.chain);
        },
      },
      ...DRIVERS.map(
        (driver): ScenarioStep => ({
          title: `Send the capture over ${driver}`,
          run: (stage) => over(stage, memory, driver, parameters),
        }),
      ),
      { title: 'Compare', run: async (stage) => compare(stage, memory, parameters) },
    ];
  },
});

async function endsOf(api: Api, { from, to }: Parameters) {
  return { from: await requireIpv4(api, from), to: await requireIpv4(api, to) };
}

function definitionOf(ends: { to: string }, { from, nf, length }: Parameters): ChainDefinition {
  const ids = Array.from({ length }, (_, n) => `nf-${n + 1}`);
  const path = ['in', ...ids, 'out'];
  return ChainDefinition.parse({
    name: CHAIN,
    title: 'Scenario: three kinds of switches',
    description: 'Created by the scenario “fabric-three-ways”, which also removes it.',
    traffic_class: { from: [from], match: [{ attribute: 'ip.dst', value: ends.to }], rate_bps: 1_000_000 },
    nodes: [{ id: 'in', kind: 'ingress' }, ...ids.map((id) => ({ id, kind: 'nf', nf })), { id: 'out', kind: 'egress' }],
    edges: path.slice(1).map((node, n) => ({ id: `e${n + 1}`, from: path[n], to: node })),
  });
}

async function over(stage: Stage, memory: Memory, driver: Driver, parameters: Parameters): Promise<void> {
  const missing = await whyNot(stage.api, driver);
  if (missing !== null) {
    memory.leftOut.set(driver, missing);
    stage.note(`left out: ${missing}`);
    return;
  }
  const switches = Object.keys(await driversNow(stage.api));
  const drivers = Object.fromEntries(switches.map((id) => [id, driver]));
  stage.note('the switches change their driver');
  await changeDrivers(stage.api, drivers, patiently(stage));
  const observed = await observe(stage, memory, driver, switches, parameters);
  memory.observations.push(observed);
  stage.note(`${observed.sent} frames sent, ${observed.arrived.length} arrived`);
}

async function observe(
  stage: Stage,
  memory: Memory,
  driver: Driver,
  switches: readonly string[],
  { from, to, frames, rate_pps }: Parameters,
): Promise<Observation> {
  const before = await countedNow(stage, memory.chain, switches);
  const id = `scenario-replay-${driver}`;
  const sending = { id, from, to, capture: memory.capture, rate_pps, frames };
  const replayed = await replay(stage, sending);
  const after = await countedNow(stage, memory.chain, switches);
  return { driver, ...replayed, rules: since(after.rules, before.rules), nfs: since(after.nfs, before.nfs) };
}

/** Counters of the chain, read after all that has been forwarded up to now. */
async function countedNow(stage: Stage, chainId: string, switches: readonly string[]) {
  const { api } = stage;
  stage.note('reading counters');
  await readAnew(stage, switches);
  const rules = new Map<string, Count>();
  for (const id of switches) {
    const { items } = await api.call('listSwitchRules', { params: { id }, ...EVERY });
    for (const { rule_id, chain_id, packets, bytes } of items)
      if (chain_id === chainId) rules.set(`${rule_id} at ${id}`, { packets: packets ?? 0, bytes: bytes ?? 0 });
  }
  const nfs = new Map<string, Count>();
  const { items } = await api.call('listCounters', { query: { chain_id: chainId, limit: 1000 } });
  for (const { instance_id, packets_in, bytes_in, packets_out, bytes_out } of items) {
    nfs.set(`${instance_id} in`, { packets: packets_in, bytes: bytes_in });
    nfs.set(`${instance_id} out`, { packets: packets_out, bytes: bytes_out });
  }
  return { rules, nfs };
}

function compare(stage: Stage, { observations, leftOut }: Memory, { frames }: Parameters): void {
  const [first] = observations as [Observation];
  const figure = (name: string, unit: string, here: number | null, more: object = {}) =>
    stage.figure({ name, unit, published: null, here, ...more });
  const exactly = (value: number) => ({ bar: { least: value, most: value } });
  for (const each of observations) {
    const rules = total(each.rules);
    figure(`${each.driver}: frames sent`, 'frames', each.sent, exactly(frames));
    figure(`${each.driver}: frames that arrive`, 'frames', each.arrived.length, exactly(frames));
    figure(`${each.driver}: packets counted by rules`, 'packets', rules.packets);
    figure(`${each.driver}: bytes counted by rules`, 'bytes', rules.bytes);
    figure(`${each.driver}: packets counted by NFs, in and out`, 'packets', total(each.nfs).packets);
    if (each === first) continue;
    const apart = countersApart(first, each);
    figure(`${each.driver}: frames unlike those of ${first.driver}`, 'frames', framesApart(first, each), exactly(0));
    figure(`${each.driver}: counters unlike those of ${first.driver}`, 'counters', apart.length, {
      ...exactly(0),
      note: apart.join(', ').slice(0, 200),
    });
  }
  for (const [driver, why] of leftOut)
    figure(`${driver}: frames that arrive`, 'frames', null, { note: `left out: ${why}`.slice(0, 200) });
}
