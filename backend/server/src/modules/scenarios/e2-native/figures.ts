import type { ScenarioFigure } from '@orrery/contract';
import type { z } from 'zod';
import { ratioOf } from '../ratio.js';
import type { ComparisonId } from './comparisons.js';
import type { Observed } from './observe.js';

type Figure = z.input<typeof ScenarioFigure>;

/** Of the packets that the other form delivers. */
const LEAST_DELIVERED = 0.95;

const RATIO = { unit: '' } as const;

/** Ratios of one comparison, `of` being what its forms did, by their ids. */
export function figuresOf(comparison: ComparisonId, of: (form: string) => Observed): Figure[] {
  switch (comparison) {
    case 'path':
      return pathFigures(of('native'), of('legacy'));
    case 'metadata':
      return [
        {
          ...RATIO,
          name: 'Branching, p50, metadata : header',
          published: 1.695 / 1.56,
          here: ratioOf(of('metadata').p50_us, of('header').p50_us),
          source: 'E2 Table 3.2',
          note: figuresText(of('header'), of('metadata')),
        },
        {
          ...RATIO,
          name: 'Branching, CPU of a packet, metadata : header',
          published: 12.76 / 11.96,
          here: ratioOf(of('metadata').cpu_us, of('header').cpu_us),
          source: 'E2 Table 3.2: by throughput',
          note: 'of the NFs; the classifier is measured by npm run bench -- native',
        },
        delivered('Branching', 'metadata : header', of('metadata'), of('header')),
      ];
    case 'streams': {
      const alone = [of('ids').cpu_us, of('sqli').cpu_us];
      const sum = alone.every((cpu) => cpu !== null) ? alone.reduce<number>((all, cpu) => all + cpu!, 0) : null;
      return [
        {
          ...RATIO,
          name: 'Detectors, CPU of a packet, one reassembly : two',
          published: 0.75,
          here: ratioOf(of('both').cpu_us, sum),
          source: 'E2 Fig. 3.6, three NFs',
          note: `${text(sum)} to ${text(of('both').cpu_us)} µs: both in one chain, and each in its own`,
        },
        delivered('Detectors', 'both : IDS alone', of('both'), of('ids')),
      ];
    }
    case 'url':
      return [
        {
          ...RATIO,
          name: 'URLs, CPU of a packet, second parser : metadata',
          published: 1.41,
          here: ratioOf(of('parsed').cpu_us, of('told').cpu_us),
          source: 'E2 Fig. 3.7',
          bar: { least: 1, most: null },
          note: figuresText(of('told'), of('parsed')),
        },
        delivered('URLs', 'second parser : metadata', of('parsed'), of('told')),
      ];
  }
}

function pathFigures(native: Observed, legacy: Observed): Figure[] {
  return [
    {
      ...RATIO,
      name: 'NF to NF, p50, raw sockets : native',
      published: 3.2 / 1.214,
      here: ratioOf(legacy.p50_us, native.p50_us),
      source: 'E2 Table 3.1',
      bar: { least: 1, most: null },
      note: `${text(native.p50_us)} to ${text(legacy.p50_us)} µs, from the first engine to the exit, on ${placesText(native, legacy)}`,
    },
    {
      ...RATIO,
      name: 'NF to NF, packets carried, native : raw sockets',
      published: 15.24 / 0.929,
      here: ratioOf(native.flood_pps, legacy.flood_pps),
      source: 'E2 Table 3.1, 64 B',
      bar: { least: 1, most: null },
      note: `${rate(legacy.flood_pps)} to ${rate(native.flood_pps)}; the native chain carries all that the sending host has CPU for`,
    },
    {
      ...RATIO,
      name: 'NF to NF, CPU of a packet, raw sockets : native',
      published: null,
      here: ratioOf(legacy.cpu_us, native.cpu_us),
      bar: { least: 1, most: null },
      note: `${text(native.cpu_us)} to ${text(legacy.cpu_us)} µs of the NFs, without the interfaces to them`,
    },
    delivered('NF to NF', 'raw sockets : native', legacy, native),
  ];
}

function delivered(name: string, forms: string, one: Observed, other: Observed): Figure {
  return {
    ...RATIO,
    name: `${name}, packets delivered, ${forms}`,
    published: null,
    here: ratioOf(one.pps, other.pps),
    bar: { least: LEAST_DELIVERED, most: null },
    note: 'at the same offered rate',
  };
}

const text = (us: number | null) => (us === null ? '–' : us.toFixed(1));
const rate = (pps: number | null) => (pps === null ? '–' : `${(pps / 1e3).toFixed(1)} kpkt/s`);
const placesText = (...all: Observed[]) => [...new Set(all.flatMap(({ servers }) => servers))].join(' and ');
const figuresText = (one: Observed, other: Observed) =>
  `p50 ${text(one.p50_us)} to ${text(other.p50_us)} µs, CPU ${text(one.cpu_us)} to ${text(other.cpu_us)} µs, packets one at a time`;
