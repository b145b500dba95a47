import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { ROOT, VENV } from '../setup/paths.mjs';
import { step } from '../setup/progress.mjs';

const FPGA = resolve(ROOT, 'fpga');
const AGENTS = resolve(ROOT, 'agents/build');
const RESULTS = resolve(FPGA, 'syn/results');
const BITS_PER_FRAME = 1514 * 8;

/** CoNFV, Table II: [Mb/s, ns] in the FPGA and in a virtual machine. */
const TABLE_II = {
  nf_nat: { fpga: [915, 2000], vm: [522, 1_009_000] },
  nf_sqli_detector: { fpga: [898, 336], vm: [408, 10_600] },
  nf_ddos_detector: { fpga: [908, 135], vm: [442, 5040] },
  nf_stateful_firewall: {},
};
/** Names of the software NFs' figures in orrery-nf-bench; NAT's is in the engine's own benchmark. */
export const SOFTWARE = {
  nf_sqli_detector: { short: 'sqli-detector 60 B', long: 'sqli-detector 1514 B' },
  nf_ddos_detector: { short: 'ddos-detector ACKs to 1024 destinations' },
  nf_stateful_firewall: { short: 'stateful-firewall 1024 connections' },
};
/** HYPER VII-B and Figure 4(a); CoNFV VI. */
const PUBLISHED = {
  softwareToHardware: 5.4,
  deploy_ms: 6.1,
  flows_per_s: 9000,
  bytesPerFlow: 32,
  partial_s: 2.5,
  full_s: 12,
  fullToPartial: 4.8,
};

const figure = (name, value, unit, better, baseline = null) => ({ name, value, unit, better, bar: null, baseline });
/** Name of the NF that a module runs. */
export const short = (module) => module.replace('nf_', '').replaceAll('_', '-');

async function output(command, args, options = {}) {
  const { stdout } = await promisify(execFile)(command, args, { maxBuffer: 1 << 22, ...options });
  return stdout;
}

const jsonLines = (text) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

/** Every module on its own in the emulated device: {tsc_mhz, modules: {name: {swap_us, 60: {...}, 1514: {...}}}}. */
export async function emulated() {
  const lines = jsonLines(
    await output(resolve(FPGA, 'build/board/board-bench'), ['--json', resolve(FPGA, 'build/board/slot')]),
  );
  const modules = Object.fromEntries(
    lines
      .filter(({ module }) => module)
      .map(({ module, frames, swap_us }) => [
        module,
        { swap_us, ...Object.fromEntries(frames.map((f) => [f.bytes, f])) },
      ]),
  );
  return { tsc_mhz: lines.find((line) => line.tsc_mhz).tsc_mhz, modules };
}

/** Figures of orrery-nf-bench by name, in cycles per packet. */
export function cyclesIn(text) {
  return new Map(
    [...text.matchAll(/^(.+?) +([\d.]+) cycles per packet$/gm)].map(([, name, value]) => [name, Number(value)]),
  );
}

/** Service time of the software NFs in ns per packet of 60 and of 1,514 bytes. */
async function software(tsc_mhz) {
  const cycles = cyclesIn(await output(resolve(AGENTS, 'nfs/orrery-nf-bench'), []));
  const [nat] = jsonLines(
    await output(resolve(AGENTS, 'engine/orrery-engine-bench'), ['--json', '--no-huge', '--only', 'nat 1024 flows']),
  );
  const ns = (name) => {
    if (!cycles.has(name)) throw new Error(`orrery-nf-bench has no figure ${name}`);
    return (cycles.get(name) / tsc_mhz) * 1e3;
  };
  const services = Object.entries(SOFTWARE).map(([module, of]) => [
    module,
    { 60: ns(of.short), 1514: ns(of.long ?? of.short) },
  ]);
  const nat_ns = 1e3 / nat.value;
  return { nf_nat: { 60: nat_ns, 1514: nat_ns }, ...Object.fromEntries(services) };
}

const live = ({ modules }) =>
  Object.entries(modules).flatMap(([name, of]) =>
    [60, 1514].flatMap((bytes) => [
      figure(`${short(name)}, ${bytes} B, emulated live`, of[bytes].frames_per_cpu_s / 1e3, 'kframes/CPU-s', 'higher'),
      figure(`${short(name)}, ${bytes} B, slowdown to board time`, of[bytes].slowdown, 'x', 'lower'),
    ]),
  );

/** CoNFV's Table II; the paper does not give the frame size of its latencies. */
function tableTwo({ modules }, services) {
  return Object.entries(TABLE_II).flatMap(([name, { fpga = [], vm = [] }]) => {
    const nf = short(name);
    const board_mbps = (BITS_PER_FRAME * 100) / modules[name][1514].board_cycles_per_frame;
    const first = (bytes) => modules[name][bytes].board_first_out_ns;
    return [
      figure(`${nf}, board, modelled 100 MHz, 1514 B`, board_mbps, 'Mb/s', 'higher', fpga[0]),
      figure(`${nf}, board, modelled, 60 B, first in to first out`, first(60), 'ns', 'lower', fpga[1]),
      figure(`${nf}, board, modelled, 1514 B, first in to first out`, first(1514), 'ns', 'lower', fpga[1]),
      figure(
        `${nf}, software core alone, no I/O, 1514 B`,
        (BITS_PER_FRAME / services[name][1514]) * 1e3,
        'Mb/s',
        'higher',
        vm[0],
      ),
      figure(`${nf}, software core alone, service time, 60 B`, services[name][60], 'ns', 'lower', vm[1]),
      figure(`${nf}, software core alone, service time, 1514 B`, services[name][1514], 'ns', 'lower', vm[1]),
    ];
  });
}

const figureFour = ({ modules }, services) =>
  [60, 1514].map((bytes) =>
    figure(
      `firewall, ${bytes} B, software core alone to modelled board`,
      services.nf_stateful_firewall[bytes] / modules.nf_stateful_firewall[bytes].board_first_out_ns,
      'x',
      'higher',
      PUBLISHED.softwareToHardware,
    ),
  );

function host({ writes, deploy_ms, deploy_one_by_one_ms, migration, full, partial }) {
  const ratio = (key) => full[key] / partial[key];
  return [
    figure(`firewall configured, ${writes} writes at once`, deploy_ms, 'ms', 'lower', PUBLISHED.deploy_ms),
    figure(`firewall configured, ${writes} writes singly`, deploy_one_by_one_ms, 'ms', 'lower', PUBLISHED.deploy_ms),
    figure('flows moved from slot to slot', migration.flows_per_s, 'flows/s', 'higher', PUBLISHED.flows_per_s),
    figure('flows moved, CPU of the board process', migration.flows_per_cpu_s, 'flows/CPU-s', 'higher'),
    figure('a flow in the table', migration.table_bytes_per_flow, 'bytes', 'lower', PUBLISHED.bytesPerFlow),
    figure('a flow on the control socket', migration.socket_bytes_per_flow, 'bytes', 'lower', PUBLISHED.bytesPerFlow),
    figure('de5 partial load, modelled', partial.modelled_s, 's', 'lower', PUBLISHED.partial_s),
    figure('de5 partial load, measured at scale 1', partial.measured_s, 's', 'lower', PUBLISHED.partial_s),
    figure('de5 full load, modelled', full.modelled_s, 's', 'lower', PUBLISHED.full_s),
    figure('de5 full load, measured at scale 1', full.measured_s, 's', 'lower', PUBLISHED.full_s),
    figure('de5 full to partial, modelled', ratio('modelled_s'), 'x', 'higher', PUBLISHED.fullToPartial),
    figure('de5 full to partial, measured', ratio('measured_s'), 'x', 'higher', PUBLISHED.fullToPartial),
  ];
}

const swaps = ({ modules }) =>
  Object.entries(modules).map(([name, { swap_us }]) =>
    figure(`${short(name)}, slot swapped (dlopen, reset, ID)`, swap_us.median, 'us', 'lower'),
  );

/** Results of the open-source flow; the FPGA families differ from CoNFV's Stratix V, so there is no ratio. */
const resources = () =>
  readdirSync(RESULTS)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => JSON.parse(readFileSync(resolve(RESULTS, file), 'utf8')))
    .flatMap(({ module, cyclonev, ecp5 }) => [
      figure(`${short(module)}, Cyclone V, ALMs, by Yosys`, cyclonev.alm, 'ALMs', 'lower'),
      figure(`${short(module)}, Cyclone V, flip-flops, by Yosys`, cyclonev.ff, 'flip-flops', 'lower'),
      figure(`${short(module)}, Cyclone V, M10K, by Yosys`, cyclonev.m10k, 'M10K', 'lower'),
      figure(`${short(module)}, ECP5 -6, clock after routing`, ecp5.fmax_mhz.speed6, 'MHz', 'higher'),
    ]);

export const bench = {
  title: 'boards: modules in CPU and in board time beside software, configuration, migration, loads, resources',
  run: () =>
    step('Boards', async (note) => {
      note('modules');
      const device = await emulated();
      note('software');
      const services = await software(device.tsc_mhz);
      note('live board');
      const python = [resolve(VENV, 'bin/python'), '-m', 'board.bench'];
      const onBoard = JSON.parse(await output('unshare', ['--net', ...python], { cwd: FPGA }));
      return [
        ...live(device),
        ...tableTwo(device, services),
        ...figureFour(device, services),
        ...host(onBoard),
        ...swaps(device),
        ...resources(),
      ];
    }),
};
