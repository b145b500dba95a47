import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { emulated, short } from './bench/boards.mjs';
import { median } from './bench/measure.mjs';
import { readCommandLine, runCommand } from './command-line.mjs';
import { boardCost, medians, softwareCost, withBoard, withCosts, withMeasuredAgain } from './profile/costs.mjs';
import { engineCosts } from './profile/engine-costs.mjs';
import { synthesisOf } from './profile/synthesis.mjs';
import { setUp } from './setup/main.mjs';
import { ROOT } from './setup/paths.mjs';
import { print } from './setup/progress.mjs';

const HELP = `npm run profile [-- [--boards | --nf ID... | --engine] [--write]]

Measures what a packet costs each software NF and each part of the engine on this machine, in cycles of the time stamp
counter: medians over five runs of orrery-nf-bench and orrery-engine-bench, for packets of 60 and 1514 bytes. The way to a
board and back is measured over a veth pair in a network namespace of its own.

  --boards  also what a packet costs each slot module, in cycles of its RTL, which do not depend on the machine; the
            resources of the modules are those of fpga/syn/results
  --nf ID   only this software NF, for one that is new or changed; once for each. The figures of the others stay, and so do
            those of the engine
  --engine  only what the engine itself spends; the figures of the NFs stay
  --write   into agents/nfs/measured.json, agents/engine/measured.json, fpga/measured.json, the descriptors of the NFs and
            the planner's engine-costs.ts`;

const NFS = resolve(ROOT, 'agents/nfs');
const ENGINE = resolve(ROOT, 'agents/engine');
const ENGINE_COSTS = resolve(ROOT, 'backend/planner/src/engine-costs.ts');
const NF_BENCH = resolve(ROOT, 'agents/build/nfs/orrery-nf-bench');
const ENGINE_BENCH = resolve(ROOT, 'agents/build/engine/orrery-engine-bench');
const RUNS = 5;

function linesOf(command, args) {
  const text = execFileSync(command, args, { encoding: 'utf8' });
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** In a network namespace of its own, with a veth pair between the engine and what stands for a board. */
function engineRun() {
  const unshare = process.getuid() === 0 ? ['--net'] : ['--map-root-user', '--net'];
  const steps = [
    'ip link add engine type veth peer name board',
    'ip link set engine up',
    'ip link set board up',
    'exec "$0" --profile --no-huge --board engine board',
  ];
  return linesOf('unshare', [...unshare, 'sh', '-c', steps.join(' && '), ENGINE_BENCH]);
}

const ofRuns = (run, of) =>
  medians(
    Array.from({ length: RUNS }, () => run()),
    median,
    of,
  );

const today = () => new Date().toISOString().slice(0, 10);

const here = () => ({ command: 'npm run profile', date: today(), machine: cpus()[0].model });
const inSoftware = () => ({ ...here(), nfs: ofRuns(() => linesOf(NF_BENCH, ['--profile']), 'nf') });
const inEngine = () => ({ ...here(), parts: ofRuns(engineRun, 'part') });

async function onBoards() {
  const { modules } = await emulated();
  const figures = ({ board_cycles_per_frame, board_first_out_ns }) => ({
    cycles: Number(board_cycles_per_frame.toFixed(2)),
    first_out_ns: board_first_out_ns,
  });
  return {
    command: 'npm run profile -- --boards',
    date: today(),
    machine: 'cycles of the RTL',
    clock_mhz: 100,
    modules: Object.fromEntries(
      Object.entries(modules).map(([module, of]) => [short(module), { 60: figures(of[60]), 1514: figures(of[1514]) }]),
    ),
  };
}

function tell(name, { cycles_per_packet, cycles_per_byte }) {
  print(`${name.padEnd(24)} ${String(cycles_per_packet).padStart(5)} cycles per packet, ${cycles_per_byte} per byte`);
}

const asJson = (content) => JSON.stringify(content, null, 2);

function format(files) {
  execFileSync(resolve(ROOT, 'node_modules/.bin/biome'), ['format', '--write', ...files], { cwd: ROOT });
}

function writeDownEngine(engine) {
  const file = resolve(ENGINE, 'measured.json');
  writeFileSync(file, asJson(engine));
  writeFileSync(ENGINE_COSTS, engineCosts(engine));
  format([file]);
}

function writeDown(measured, boards) {
  const files = [];
  const write = (file, content) => {
    writeFileSync(file, asJson(content));
    files.push(file);
  };
  write(resolve(NFS, 'measured.json'), measured);
  if (boards) write(resolve(ROOT, 'fpga/measured.json'), boards);
  for (const nf of readdirSync(NFS)) {
    const file = resolve(NFS, nf, 'descriptor.json');
    if (!existsSync(file)) continue;
    const descriptor = withCosts(JSON.parse(readFileSync(file, 'utf8')), measured);
    write(file, boards ? withBoard(descriptor, boards, synthesisOf) : descriptor);
  }
  format(files);
}

async function profileAgain(ids, write) {
  await setUp('profile');
  const again = inSoftware();
  for (const id of ids) if (again.nfs[id]) tell(id, softwareCost(again.nfs[id]));
  const measured = withMeasuredAgain(JSON.parse(readFileSync(resolve(NFS, 'measured.json'), 'utf8')), again, ids);
  if (write) writeDown(measured, null);
  return 0;
}

function profileEngine() {
  const engine = inEngine();
  for (const [part, cycles] of Object.entries(engine.parts)) tell(`engine, ${part}`, softwareCost(cycles));
  return engine;
}

async function main() {
  const flag = { type: 'boolean', default: false };
  const nf = { type: 'string', multiple: true, default: [] };
  const { values } = readCommandLine({ options: { write: flag, boards: flag, nf, engine: flag, help: flag } }, HELP);
  if (values.help) {
    print(HELP);
    return 0;
  }
  if (values.nf.length > 0) return profileAgain(values.nf, values.write);
  await setUp(values.boards ? 'profile-boards' : 'profile');
  if (values.engine) {
    const engine = profileEngine();
    if (values.write) writeDownEngine(engine);
    return 0;
  }
  const measured = inSoftware();
  for (const [nf, cycles] of Object.entries(measured.nfs)) tell(nf, softwareCost(cycles));
  const engine = profileEngine();
  const boards = values.boards ? await onBoards() : null;
  for (const [nf, module] of Object.entries(boards?.modules ?? {}))
    tell(`${nf}, board`, boardCost(module, boards.clock_mhz));
  if (values.write) {
    writeDown(measured, boards);
    writeDownEngine(engine);
  }
  return 0;
}

await runCommand(main);
