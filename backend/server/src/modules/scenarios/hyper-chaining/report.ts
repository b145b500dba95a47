import { median } from '../../../platform/median.js';
import { percentOf } from '../busy-cores.js';
import type { Stage } from '../scenario.js';
import type { Measured, Memory } from './memory.js';
import type { Form } from './slas.js';

/** Published, of one SLA. */
const DECISION_MS = 1.2;

const TITLES: Readonly<Record<Form, string>> = {
  'of-hardware': 'firewall → elephant detector',
  'with-software': 'firewall → elephant detector → IDS',
};

const middle = (points: readonly (readonly [number, number])[]) =>
  points.length > 0 ? median(points.map(([, us]) => us)) : null;

/** The table *published | here* and the plots. */
export function report(
  stage: Stage,
  memory: Memory,
  { slas, live }: { readonly slas: number; readonly live: number },
): void {
  const { decided, hyper, strawman, software, onBoards, enforced_s, accepted, busyShare } = memory;
  const cores = `cores were busy for ${percentOf(busyShare)} of the time`;
  stage.figure({
    name: 'Decision on an SLA',
    unit: 'ms',
    published: DECISION_MS,
    here: decided.ms / slas,
    source: 'HYPER VII-E',
    bar: { least: null, most: DECISION_MS },
    note: `on the live pool, with what is booked by the SLAs before and what switches have left; ${cores}`,
  });
  stage.figure({
    name: 'Requests decided a second',
    unit: 'requests/s',
    published: 1000 / DECISION_MS,
    here: decided.ms > 0 ? (1000 * slas) / decided.ms : null,
    source: 'HYPER VII-E: one in 1.2 ms',
    note: 'the same decisions, one after the other, as a server takes them in bulk',
  });
  stage.figure({
    name: 'Chaining alone',
    unit: 'ms',
    published: DECISION_MS,
    here: hyper.us_each / 1000,
    source: 'HYPER VII-E',
    note: 'the same SLAs, each on empty instances',
  });
  stage.figure({
    name: 'Chaining by functions alone (strawman)',
    unit: 'ms',
    published: 1,
    here: strawman.us_each / 1000,
    source: 'HYPER VII-E',
  });
  stage.figure({
    name: 'SLAs kept on empty instances',
    unit: '%',
    published: null,
    here: (100 * hyper.kept) / slas,
    modelled: true,
    note: 'by predicted latencies; these ways are the shortest, so the strawman keeps no more, and as many where all ways are alike',
  });
  stage.figure({
    name: 'SLAs kept by the strawman',
    unit: '%',
    published: null,
    here: (100 * strawman.kept) / slas,
    modelled: true,
    note: `it gives ${strawman.given} of ${slas} a way; those that miss the bound are not kept`,
  });
  stage.figure({
    name: 'SLAs accepted on the live pool',
    unit: '%',
    published: null,
    here: (100 * decided.accepted) / slas,
    note: 'in turn, until rates of instances or entries of the switch are used up; only tried',
  });
  stage.figure({
    name: 'Accepted requests are enforced',
    unit: 's',
    published: null,
    here: enforced_s,
    note: `${accepted} of ${live} random ones and of those that fill instances, by as few operations as there is time for`,
  });
  stage.figure({
    name: 'Firewall on a board with 16 table entries',
    unit: 'ms',
    published: 6.1,
    here: 1000 * onBoards['with-software'].deployed_s,
    source: 'HYPER VII-B',
    note: 'from the request until its packets take the way: plan, loading of two bitstreams as long as the device takes, which the publication does not count, and entries of the switch',
  });
  for (const form of ['of-hardware', 'with-software'] as const)
    compareForms(stage, form, software[form], onBoards[form]);
  stage.plot({
    title: 'SLAs accepted, from the first to the last',
    source: '',
    x: { label: 'SLAs', unit: '' },
    y: { label: 'accepted', unit: '%' },
    series: [{ name: 'on the live pool', published: false, modelled: false, points: decided.shares }],
  });
  stage.plot({
    title: 'Latency of the chains, medians',
    source: '',
    x: { label: 'time since packets take the way', unit: 's' },
    y: { label: 'latency', unit: 'us' },
    series: (['of-hardware', 'with-software'] as const).flatMap((form) => [
      { name: `${TITLES[form]}, software`, published: false, modelled: false, points: [...software[form].median_us] },
      {
        name: `${TITLES[form]}, boards (emulated)`,
        published: false,
        modelled: false,
        points: [...onBoards[form].median_us],
      },
    ]),
  });
}

/** A chain in software beside the same one with all that boards can run on boards. */
function compareForms({ figure }: Stage, form: Form, software: Measured, boards: Measured): void {
  const title = TITLES[form];
  const source = form === 'with-software' ? 'HYPER Fig. 4 c' : 'HYPER Fig. 4 b';
  const published = form === 'with-software' ? 40 : null;
  const gain = form === 'with-software' ? 'HYPER VII-A: 40 to 67' : source;
  const [before, after] = [middle(software.median_us), middle(boards.median_us)];
  figure({
    name: `Latency of ${title}, in software`,
    unit: 'us',
    published: null,
    here: before,
    source,
    note: software.instances,
  });
  figure({
    name: `Latency of ${title}, on boards`,
    unit: 'us',
    published: null,
    here: after,
    source,
    note: `${boards.instances}; boards are emulated: a program stands in for each`,
  });
  figure({
    name: `Jitter of ${title}, in software`,
    unit: 'us',
    published: null,
    here: middle(software.jitter_us),
    source,
    note: 'p99 above the median',
  });
  figure({
    name: `Jitter of ${title}, on boards`,
    unit: 'us',
    published: null,
    here: middle(boards.jitter_us),
    source,
  });
  figure({
    name: `Latency of ${title} below software, measured`,
    unit: '%',
    published,
    here: before === null || after === null ? null : 100 * (1 - after / before),
    source: gain,
    note: 'of hosts and links, too, which take most of it; it says nothing of boards, as these are emulated; the published chain has a NAT behind the firewall',
  });
  figure({
    name: `Latency of ${title} below software, predicted`,
    unit: '%',
    published,
    here: 100 * (1 - boards.predicted_us / software.predicted_us),
    modelled: true,
    source: gain,
    note: 'by the model of latency, with cycles of the RTL: links take most of the time here, which leaves little to gain',
  });
}
