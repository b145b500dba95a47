import { sampleKey } from '@orrery/contract';
import { z } from 'zod';
import { ipv4Of } from '../address.js';
import { observeCores, percentOf } from '../busy-cores.js';
import { takeDown } from '../deploy-chain.js';
import { cpuLimit, receiver, sender } from '../fields.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { Window } from '../window.js';
import { containers, instructions } from './needs.js';
import {
  type Cipher,
  chainNames,
  definitionOf,
  deployTunnels,
  load,
  NF,
  type Shape,
  sinkOf,
  type Tunnel,
} from './tunnels.js';

/** Until rates are those of the new mode. */
const SETTLE_S = 4;

const Parameters = z.object({
  from: sender('client-3'),
  to: receiver('web-1'),
  cpu_limit: cpuLimit(0.05, 'of the near end (published: one core of an ARM A9)'),
  offered_mbps: z
    .number()
    .min(1)
    .max(500)
    .default(80)
    .meta({ title: 'Offered UDP', unit: 'Mbit/s', description: 'more than the tunnel carries' }),
  seconds: z
    .number()
    .min(3)
    .max(120)
    .default(10)
    .meta({ title: 'Measurement', unit: 's', description: 'in each mode' }),
});
type Parameters = z.output<typeof Parameters>;

interface Mode {
  readonly mbps: number | null;
  /** Of its limit. */
  readonly cpu: number | null;
}
interface Row {
  readonly software: Mode;
  readonly accelerated: Mode;
  readonly busyShare: number;
}

/** Table I of SSM. */
const PUBLISHED: Readonly<Record<Cipher, { software: Required<Mode>; accelerated: Required<Mode>; gain: number }>> = {
  'aes-128-ctr': { software: { mbps: 38.8, cpu: 99 }, accelerated: { mbps: 55.1, cpu: 84.5 }, gain: 42.1 },
  'aes-256-ctr': { software: { mbps: 31.5, cpu: 99 }, accelerated: { mbps: 51, cpu: 86 }, gain: 61.9 },
};
const CIPHERS = Object.keys(PUBLISHED) as Cipher[];

export const SSM_TABLE_1 = defineScenario({
  id: 'ssm-table-1',
  title: 'A tunnel in software and accelerated',
  summary:
    'One encrypted tunnel whose near end may use a small part of a core carries as much UDP as it can, in software and with the crypto instructions of its server, with keys of 128 and of 256 bits. It is switched while the session goes on.',
  source: 'SSM Table I',
  duration_s: 90,
  watch: 'topology',
  parameters: Parameters,
  faults: ({ from, to }) =>
    from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : [],
  needs: ({ from, to, ...rest }) => [
    runningTwin(),
    nfs(NF),
    hosts(from, to),
    containers(),
    instructions(),
    freeNames(...chainNames(1)),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, to);
      return address ? [definitionOf(1, { from, address, cipher: 'aes-128-ctr', ...rest })] : [];
    }),
  ],
  steps: (parameters) => {
    const rows = new Map<Cipher, Row>();
    let isLoaded = false;
    return [
      ...CIPHERS.map((cipher) => ({
        title: `Measure ${nameOf(cipher)}`,
        run: async (stage: Stage) => {
          const shape: Shape = { tunnels: 1, cipher, ...parameters };
          const [tunnel] = await deployTunnels(stage, shape);
          if (!isLoaded) await load(stage, tunnel!, 1, shape);
          isLoaded = true;
          rows.set(cipher, await measured(stage, tunnel!, parameters));
          await takeDown(stage, tunnel!.chain);
          await stage.api.call('deleteChain', { params: { id: tunnel!.chain } });
        },
      })),
      { title: 'Compare', run: async (stage: Stage) => compare(stage, rows) },
    ];
  },
});

const nameOf = (cipher: Cipher) => (cipher === 'aes-128-ctr' ? 'AES128-SHA256' : 'AES256-SHA256');

async function measured(stage: Stage, { near }: Tunnel, { seconds, cpu_limit }: Parameters): Promise<Row> {
  const busy = observeCores();
  const mode = async (route: 'releaseNfInstance' | 'accelerateNfInstance', text: string): Promise<Mode> => {
    await stage.api.call(route, { params: { id: near } });
    await stage.wait(SETTLE_S, `${text} begins`);
    const since_ms = Date.now();
    await stage.wait(seconds, `measuring ${text}`);
    const [bps, cpu] = [sampleKey('application', sinkOf(1), 'bps'), sampleKey('instance', near, 'cpu')];
    const window = await Window.since(stage.api, [bps, cpu], since_ms);
    const [rate, share] = [window.mean(bps), window.mean(cpu)];
    return { mbps: rate === null ? null : rate / 1e6, cpu: share === null ? null : (100 * share) / cpu_limit };
  };
  const software = await mode('releaseNfInstance', 'software');
  const accelerated = await mode('accelerateNfInstance', 'acceleration');
  return { software, accelerated, busyShare: busy() };
}

function compare(stage: Stage, rows: ReadonlyMap<Cipher, Row>): void {
  for (const cipher of CIPHERS) {
    const row = rows.get(cipher)!;
    const published = PUBLISHED[cipher];
    const source = 'SSM Table I';
    const cores = `cores were busy for ${percentOf(row.busyShare)} of the time`;
    for (const mode of ['software', 'accelerated'] as const) {
      const name = `${nameOf(cipher)}, ${mode}`;
      stage.figure({
        name,
        unit: 'Mbit/s',
        published: published[mode].mbps,
        here: row[mode].mbps,
        source,
        note: cores,
      });
      stage.figure({
        name: `CPU of its limit, ${name}`,
        unit: '%',
        published: published[mode].cpu,
        here: row[mode].cpu,
        source,
        note: 'UDP of more than it carries keeps it busy in both modes; TCP would follow its rate',
      });
    }
    const { software, accelerated } = row;
    const isKnown = software.mbps !== null && accelerated.mbps !== null && software.mbps > 0;
    stage.figure({
      name: `${nameOf(cipher)}, gain`,
      unit: '%',
      published: published.gain,
      here: isKnown ? 100 * (accelerated.mbps! / software.mbps! - 1) : null,
      source,
      bar: { least: 10, most: null },
      note: 'AES and SHA in an FPGA beside an ARM core there; instructions of the same core here',
    });
  }
}
