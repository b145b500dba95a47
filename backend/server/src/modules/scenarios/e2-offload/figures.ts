import type { ScenarioFigure } from '@orrery/contract';
import type { z } from 'zod';
import { percentOf } from '../busy-cores.js';
import { framesApart } from '../replay.js';
import { FIRST_NFS } from './chain.js';
import type { Observed } from './observe.js';

type Figure = z.input<typeof ScenarioFigure>;

/** The change from servers to the switch. */
export interface Change {
  readonly seconds: number;
  readonly probes: { readonly sent: number; readonly lost: number };
  /** NFs that the switch runs then. */
  readonly moved: number;
  /** Entries of the switch in all, and those for NFs. */
  readonly entries: { readonly planned: number; readonly held: number; readonly nfs: number };
}

/** What is to happen to the frames, whoever runs the NFs. */
export interface Expected {
  readonly frames: number;
  readonly denied: number;
}

/** E2 has the method, and a prototype that runs no NF on a switch. */
const NO_FIGURE = 'E2 3.4.1, step 5: no figure';
const SERVERS = 'all on servers';
const SWITCH = 'first on the switch';

export function figuresOf(onServers: Observed, onSwitch: Observed, change: Change, expected: Expected): Figure[] {
  const figure = (name: string, unit: string, here: number | null, more: Partial<Figure> = {}): Figure => ({
    name,
    unit,
    published: null,
    here,
    ...more,
  });
  const exactly = (value: number) => ({ bar: { least: value, most: value } });
  const delivered = expected.frames - expected.denied;
  const both = (of: (observed: Observed, form: string) => Figure[]) => [
    ...of(onServers, SERVERS),
    ...of(onSwitch, SWITCH),
  ];
  return [
    figure('NFs that the switch runs', 'NFs', change.moved, exactly(FIRST_NFS.length)),
    ...both((it, form) => [
      figure(`Frames sent, ${form}`, 'frames', it.sent, exactly(expected.frames)),
      figure(`Frames denied, ${form}`, 'frames', it.denied, exactly(expected.denied)),
      figure(`Frames out of the chain, ${form}`, 'frames', it.delivered, exactly(delivered)),
      figure(`Frames that arrive, ${form}`, 'frames', it.arrived.length, exactly(delivered)),
    ]),
    figure('Frames that arrive in one form only', 'frames', framesApart(onServers, onSwitch), exactly(0)),
    ...both((it, form) => [
      figure(`Packets from the switch to servers, ${form}`, 'packets', it.toServer.packets),
      figure(`Bytes from the switch to servers, ${form}`, 'B', it.toServer.bytes),
    ]),
    figure('Packets saved on the link', 'packets', onServers.toServer.packets - onSwitch.toServer.packets, {
      ...exactly(expected.denied),
      source: NO_FIGURE,
      note: 'what the firewall denies; what passes goes to the last NF, which stays on its server',
    }),
    figure('Bytes saved on the link', 'B', onServers.toServer.bytes - onSwitch.toServer.bytes),
    ...both((it, form) => [figure(`CPU of the engines, ${form}`, '% of a core', percent(it.enginesCpu))]),
    figure('CPU of engines freed', '% of a core', percent(less(onServers.enginesCpu, onSwitch.enginesCpu)), {
      source: NO_FIGURE,
      note: 'of the processes, with their polling of ports and queues',
    }),
    figure('CPU of the NFs that moved, for each frame', 'us', onServers.firstNfsUs, {
      note: 'freed on the server: from its cycles',
    }),
    ...both((it, form) => [
      figure(`CPU of the process of the switch, ${form}`, '% of a core', percent(it.switchCpu), {
        note: it.switchCpu === null ? 'not measured: its process is not visible from the server' : '',
      }),
    ]),
    figure(
      'CPU of the process of the switch, more',
      '% of a core',
      percent(less(onSwitch.switchCpu, onServers.switchCpu)),
      {
        note: 'the switch is emulated, a program on the same machine; a switch of hardware spends no core. Measured in steps of 10 ms',
      },
    ),
    ...both((it, form) => [
      figure(`One-way latency, p50, ${form}`, 'us', it.p50_us, { source: NO_FIGURE, note: probesText(it) }),
      figure(`One-way latency, p99, ${form}`, 'us', it.p99_us, { source: NO_FIGURE, note: probesText(it) }),
    ]),
    figure('Entries of the switch used', 'entries', change.entries.held, {
      ...exactly(change.entries.planned),
      note: `planned: ${change.entries.planned}, of which ${change.entries.nfs} for NFs`,
    }),
    figure('Time of the change', 's', change.seconds, {
      note: 'from the plan to the chain that runs by it, and the switch that holds its entries',
    }),
    figure('Probes lost during the change', 'probes', change.probes.lost, { note: `of ${change.probes.sent}` }),
  ];
}

const less = (one: number | null, other: number | null) => (one === null || other === null ? null : one - other);
const percent = (share: number | null) => (share === null ? null : 100 * share);
const probesText = ({ probes: { sent, lost }, busyShare }: Observed) =>
  `${sent} probes from host to host, ${lost} lost; cores were busy for ${percentOf(busyShare)} of the time`;
