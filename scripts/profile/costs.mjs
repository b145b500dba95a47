/** A container does its NF's work and its own: two packet sockets and a sleep (docs/benchmarks.md, Containers). */
const CONTAINER_EXTRA = { cycles_per_packet: 10500, cycles_per_byte: 1 };
const CONTAINER_SOURCE = 'npm run bench -- containers, 2026-11-23, AMD EPYC';
/** Below this the difference between short and long packets is noise. */
const LEAST_PER_BYTE = 0.01;

const rounded = (value, digits) => Number(value.toFixed(digits));

/** The cost profile through the cycles of the shortest and the longest packets: {bytes: cycles}. */
export function softwareCost(cycles) {
  const lengths = Object.keys(cycles).map(Number);
  const [short, long] = [Math.min(...lengths), Math.max(...lengths)];
  const slope = rounded((cycles[long] - cycles[short]) / (long - short), 2);
  const cycles_per_byte = slope < LEAST_PER_BYTE ? 0 : slope;
  return { cycles_per_packet: Math.round(cycles[short] - cycles_per_byte * short), cycles_per_byte };
}

/** Where a descriptor's figures come from. */
export const sourceOf = ({ command, date, machine }) => `${command}, ${date}, ${machine}`;

/** What was measured, with the figures of these NFs from a later measurement, whose date and machine stay with them. */
export function withMeasuredAgain(measured, { date, machine, nfs }, ids) {
  const missing = ids.find((id) => !nfs[id]);
  if (missing) throw new Error(`nothing was measured of ${missing}`);
  const of = (value) => Object.fromEntries(ids.map((id) => [id, value(id)]));
  const inOrder = (byId) => Object.fromEntries(Object.entries(byId).sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    ...measured,
    again: inOrder({ ...measured.again, ...of(() => ({ date, machine })) }),
    nfs: inOrder({ ...measured.nfs, ...of((id) => nfs[id]) }),
  };
}

/** The descriptor with the measured costs of its software and, derived from them, of its container. */
export function withCosts(descriptor, measured) {
  const cycles = measured.nfs[descriptor.id];
  if (!cycles) throw new Error(`nothing was measured of ${descriptor.id}`);
  const cost = softwareCost(cycles);
  const source = sourceOf({ ...measured, ...measured.again?.[descriptor.id] });
  const inContainer = {
    cycles_per_packet: cost.cycles_per_packet + CONTAINER_EXTRA.cycles_per_packet,
    cycles_per_byte: rounded(cost.cycles_per_byte + CONTAINER_EXTRA.cycles_per_byte, 2),
  };
  const implementations = descriptor.implementations.map((it) => {
    if (it.kind === 'software') return { ...it, source, cost: { ...it.cost, ...cost } };
    if (it.kind !== 'container') return it;
    return { ...it, source: `${source}; ${CONTAINER_SOURCE}`, cost: { ...it.cost, ...inContainer } };
  });
  return { ...descriptor, implementations };
}

/**
 * A slot's cost in cycles of the board's clock: those for which a packet occupies the module, through the shortest and
 * the longest packet; the rest of the time from the first beat in to the first one out is the base latency.
 * @param {Record<string, { cycles: number, first_out_ns: number }>} measured by bytes, at `clock_mhz`
 */
export function boardCost(measured, clock_mhz) {
  const lengths = Object.keys(measured).map(Number);
  const [short, long] = [Math.min(...lengths), Math.max(...lengths)];
  const slope = (measured[long].cycles - measured[short].cycles) / (long - short);
  const atLength0 = measured[short].cycles - slope * short;
  // Less than nothing: the module reads the payload only. Then the line goes through the longest packet.
  const cycles_per_packet = atLength0 < 1 ? 1 : rounded(atLength0, 1);
  const cycles_per_byte = rounded((measured[long].cycles - cycles_per_packet) / long, 4);
  const rest_us = Object.values(measured).map((it) => it.first_out_ns / 1e3 - it.cycles / clock_mhz);
  return { cycles_per_packet, cycles_per_byte, base_latency_us: rounded(Math.max(...rest_us), 2) };
}

/** A block of 18 kbit in KiB. */
const BRAM18_KIB = 2.25;

/**
 * What a module takes of a slot, in the terms of boards: synthesis for Xilinx 7 (fpga/syn), whose LUTs the profiles of
 * most boards count in.
 */
export const slotResources = ({ xc7 }) => ({
  lut: xc7.lut,
  ff: xc7.ff,
  'bram-kib': Math.ceil(xc7.bram18 * BRAM18_KIB),
});

/**
 * The descriptor with the measured cost and the resources of its slot module, if it has one.
 * @param {(nf: string) => object | null} synthesisOf result of fpga/syn
 */
export function withBoard(descriptor, measured, synthesisOf) {
  const implementations = descriptor.implementations.map((it) => {
    if (it.kind !== 'board') return it;
    const module = measured.modules[descriptor.id];
    const synthesis = synthesisOf(descriptor.id);
    if (!module || !synthesis) throw new Error(`nothing was measured of the module ${descriptor.id}`);
    return {
      ...it,
      source: sourceOf(measured),
      cost: { ...it.cost, ...boardCost(module, measured.clock_mhz) },
      resources: slotResources(synthesis),
    };
  });
  return { ...descriptor, implementations };
}

/**
 * The medians over runs of a benchmark with `--profile`, by what it names (`of`: nf, or part of the engine) and packet
 * length.
 */
export function medians(runs, median, of) {
  const all = {};
  for (const { [of]: name, bytes, cycles } of runs.flat()) {
    all[name] ??= {};
    all[name][bytes] ??= [];
    all[name][bytes].push(cycles);
  }
  return Object.fromEntries(
    Object.entries(all).map(([name, byLength]) => [
      name,
      Object.fromEntries(Object.entries(byLength).map(([bytes, list]) => [bytes, rounded(median(list), 1)])),
    ]),
  );
}
