import { accessSync, constants } from 'node:fs';
import { onInterrupt } from '../interrupt.mjs';
import { step } from '../setup/progress.mjs';
import { insertRates } from './fabric-inserts.mjs';
import { FabricNetwork } from './fabric-network.mjs';
import { measureTraffic } from './fabric-traffic.mjs';
import { median } from './measure.mjs';

const ROUNDS = 3;
/** Why `bmv2` is left out; null: it is measured. */
function bmv2Missing() {
  const program = process.env.ORRERY_BMV2;
  if (!program) return 'set ORRERY_BMV2 to simple_switch_grpc';
  try {
    accessSync(program, constants.X_OK);
    return null;
  } catch {
    return `ORRERY_BMV2: no program ${program}`;
  }
}

/** Medians of what every round measured, by driver and field. */
class Rounds {
  #all = new Map();

  add(driver, figures) {
    this.#all.set(driver, [...(this.#all.get(driver) ?? []), figures]);
  }

  of(driver, field) {
    const rounds = this.#all.get(driver);
    return rounds ? median(rounds.map((round) => round[field])) : null;
  }

  /** The largest of every round. */
  worst(driver, field) {
    return Math.max(...this.#all.get(driver).map((round) => round[field]));
  }
}

/** Every driver in turn in each round, so that what else the machine does meets all alike. */
async function inTheTwin(drivers, rounds, note) {
  const network = new FabricNetwork();
  onInterrupt(() => network.stop());
  await network.start();
  try {
    for (let round = 1; round <= ROUNDS; round++)
      for (const driver of drivers) {
        note(`${driver}, round ${round} of ${ROUNDS}`);
        await network.use(driver);
        const traffic = await measureTraffic(network);
        const { seconds, planned, held } = await network.deployChain();
        rounds.add(driver, { ...traffic, deploy_s: seconds, off: Math.abs(held - planned), held });
      }
  } finally {
    await network.stop();
  }
}

const hasP4Runtime = (driver) => driver !== 'ovs';

/** Title, field, unit, factor to the unit, better; what `p4` has to reach, in times of BMv2. */
const TRAFFIC = [
  ['TCP', 'mbps', 'Mbit/s', 1, 'higher'],
  ['TCP, data and acknowledgements', 'packets_per_s', 'kpps', 1e-3, 'higher', 3],
  ['TCP, CPU of the switch', 'cpu_us', 'us/packet', 1, 'lower'],
  ['round trip p50', 'p50_us', 'us', 1, 'lower'],
  ['round trip p99', 'p99_us', 'us', 1, 'lower'],
  ['round trips lost', 'lost', 'of 1000', 1, 'lower'],
  ['UDP 64 B, flood, delivered', 'small_per_s', 'kpps', 1e-3, 'higher'],
  ['deploy of a chain of two NFs', 'deploy_s', 's', 1, 'lower'],
  ['entries in use', 'held', 'entries', 1, 'lower'],
];

const ENTRIES = [
  ['inserts by P4Runtime, ternary', 'ternary_inserts_per_s', 'entries/s', 1, 'higher', 1],
  ['deletes by P4Runtime, ternary', 'ternary_deletes_per_s', 'entries/s', 1, 'higher'],
  ['inserts by P4Runtime, exact', 'exact_inserts_per_s', 'entries/s', 1, 'higher', 1],
  ['deletes by P4Runtime, exact', 'exact_deletes_per_s', 'entries/s', 1, 'higher'],
];

/** A line of `TRAFFIC` or `ENTRIES` by driver, beside that of BMv2 where it was measured. */
function lines(rounds, drivers, [title, field, unit, factor, better, timesBmv2]) {
  const of = (driver) => factor * rounds.of(driver, field);
  const bmv2 = rounds.of('bmv2', field) === null ? null : of('bmv2');
  return drivers.map((driver) => ({
    name: `${title}, ${driver}`,
    value: of(driver),
    unit,
    better,
    baseline: driver === 'bmv2' ? null : bmv2,
    bar: driver === 'p4' && timesBmv2 && bmv2 !== null ? timesBmv2 * bmv2 : null,
  }));
}

function figures(drivers, traffic, entries) {
  return [
    ...TRAFFIC.flatMap((line) => lines(traffic, drivers, line)),
    ...drivers.map((driver) => ({
      name: `entries in use, off those planned, ${driver}`,
      value: traffic.worst(driver, 'off'),
      unit: 'entries',
      better: 'lower',
      bar: 0,
    })),
    ...ENTRIES.flatMap((line) => lines(entries, drivers.filter(hasP4Runtime), line)),
  ];
}

export const bench = {
  title: 'the fabric by driver of its switch: traffic, CPU, round trips, deployment and entries of ovs, p4 and bmv2',
  async run() {
    const missing = bmv2Missing();
    if (missing) console.error(`bmv2 is not measured: ${missing}`);
    const drivers = ['ovs', 'p4', ...(missing ? [] : ['bmv2'])];
    const traffic = new Rounds();
    const entries = new Rounds();
    await step('Traffic and chains', (note) => inTheTwin(drivers, traffic, note));
    await step('Entries', async (note) => {
      for (let round = 1; round <= ROUNDS; round++)
        for (const driver of drivers.filter(hasP4Runtime)) {
          note(`${driver}, round ${round} of ${ROUNDS}`);
          entries.add(driver, await insertRates(driver));
        }
    });
    return figures(drivers, traffic, entries);
  },
};
