import type { ScenarioFigure } from '@orrery/contract';
import type { z } from 'zod';
import { percentOf } from '../busy-cores.js';
import { ratioOf } from '../ratio.js';
import type { Execution } from './execution.js';

type Figure = z.input<typeof ScenarioFigure>;

/** HydraNF 6.6.1 and 6.6.2: latency down by up to 31.7 %, at most 7 % more cycles. */
const PUBLISHED_LATENCY = 1 - 0.317;
const PUBLISHED_CYCLES = 1.07;
/** Of packets that the merges of a chain give up, where nothing is lost on purpose. */
const MOST_GIVEN_UP = 0.05;

/** Figures of one chain in sequence and in parallel, while the cores of the machine were busy for the share. */
export function figuresOf(
  title: string,
  note: string,
  sequential: Execution,
  parallel: Execution,
  busyShare: number,
): Figure[] {
  const name = (what: string) => `${title}: ${what}`;
  const busy = `cores of the machine busy for ${percentOf(busyShare)} of the time`;
  return [
    {
      name: name('p50, parallel : sequential'),
      unit: '',
      published: PUBLISHED_LATENCY,
      here: ratioOf(parallel.p50_us, sequential.p50_us),
      source: 'HydraNF Fig. 6.12: at best',
      note: `${text(sequential.p50_us)} to ${text(parallel.p50_us)} us; ${busy}`,
    },
    {
      name: name('p50, parallel : sequential, predicted'),
      unit: '',
      published: null,
      here: ratioOf(parallel.predicted_p50_us, sequential.predicted_p50_us),
      modelled: true,
      note: 'by the plans, which count on a free core for each worker',
    },
    {
      name: name('p99, parallel : sequential'),
      unit: '',
      published: null,
      here: ratioOf(parallel.p99_us, sequential.p99_us),
      note: `${text(sequential.p99_us)} to ${text(parallel.p99_us)} us`,
    },
    {
      name: name('CPU of a packet, parallel : sequential'),
      unit: '',
      published: PUBLISHED_CYCLES,
      here: ratioOf(parallel.cpu_us, sequential.cpu_us),
      source: 'HydraNF Fig. 6.16: at most',
      note: `${text(sequential.cpu_us)} to ${text(parallel.cpu_us)} us, packets one at a time`,
    },
    {
      name: name('CPU of a packet, parallel : sequential, full batches'),
      unit: '',
      published: PUBLISHED_CYCLES,
      here: ratioOf(parallel.planned_cpu_share, sequential.planned_cpu_share),
      source: 'HydraNF Fig. 6.16: at most',
      modelled: true,
      note: 'by what npm run profile measured of NFs, copies and merges',
    },
    {
      name: name('copies of a packet'),
      unit: '',
      published: null,
      here: parallel.copies,
      bar: parallel.isParallel ? { least: 1, most: null } : null,
      note: parallel.isParallel ? note : `not judged: the plan leaves the chain in sequence; ${note}`,
    },
    {
      name: name('packets given up by merges'),
      unit: '%',
      published: null,
      here: parallel.given_up === null ? null : 100 * parallel.given_up,
      bar: { least: null, most: 100 * MOST_GIVEN_UP },
      note: 'a copy was dropped or did not come in time',
    },
    {
      name: name('packets delivered, parallel : sequential'),
      unit: '',
      published: null,
      here: ratioOf(parallel.pps, sequential.pps),
      bar: { least: 1 - MOST_GIVEN_UP, most: null },
      note: 'at the same offered rate',
    },
  ];
}

const text = (us: number | null) => (us === null ? '–' : us.toFixed(1));
