import { existsSync, readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { run } from './command.mjs';
import { fingerprint, unlessDone } from './fingerprint.mjs';
import { ROOT } from './paths.mjs';
import { step } from './progress.mjs';
import { p4runtimeProtos } from './python.mjs';

// Line tables are all that a report needs; complete debug information takes half of the compiler's time.
const SANITIZERS = [
  '--buildtype=debug',
  '-Doptimization=g',
  '-Dcpp_args=-g1 -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS',
  '-Db_sanitize=address,undefined',
];
const AGENTS = {
  source: 'agents',
  depends: [
    'agents/meson*',
    'agents/container-nf',
    'agents/nfs',
    'agents/p4',
    'agents/engine',
    'agents/p4',
    'agents/support',
    'fpga/rtl/nf_sqli_detector/patterns.txt',
  ],
};
const FLOWS = { source: 'twin/flows', depends: ['twin/flows', 'agents/support'] };
const LINKD = { source: 'twin/linkd', depends: ['twin/linkd', 'agents/support'] };
const BOARDS = { source: 'fpga', depends: ['fpga/meson.build', 'fpga/board', 'fpga/rtl', 'agents/support'] };

/**
 * Builds of meson projects: `source` is the project's folder, `directory` the build directory in it, `targets` are
 * ninja's, or its default ones; `products` are in the build directory.
 */
const BUILDS = {
  engine: {
    ...AGENTS,
    title: 'Data-plane engine',
    directory: 'build',
    options: ['--buildtype=release'],
    targets: ['demo'],
    products: ['engine/orrery-engine', 'container-nf/container-nf.tar'],
  },
  'p4-switch': {
    ...AGENTS,
    title: 'P4 switch',
    directory: 'build',
    // Later configurations of this directory keep the folder.
    get options() {
      return ['--buildtype=release', `-Dp4runtime_protos=${p4runtimeProtos()}`];
    },
    targets: ['p4/switch/orrery-p4-switch'],
    products: ['p4/switch/orrery-p4-switch'],
  },
  benches: {
    ...AGENTS,
    title: 'Benchmarks of the data plane',
    directory: 'build',
    options: ['--buildtype=release'],
    targets: [],
    products: ['engine/orrery-engine-bench', 'nfs/orrery-nf-bench'],
  },
  'engine-tests': {
    ...AGENTS,
    title: 'Tests of the data plane',
    directory: 'build',
    options: ['--buildtype=release'],
    targets: ['tests'],
    products: ['engine/engine_test'],
  },
  sanitized: {
    ...AGENTS,
    title: 'NF cores and P4 with sanitizers',
    directory: 'build-asan',
    get options() {
      return [...SANITIZERS, '-Dengine=false', `-Dp4runtime_protos=${p4runtimeProtos()}`];
    },
    targets: ['tests'],
    products: ['nfs/nfs_test'],
  },
  linkd: {
    ...LINKD,
    title: 'Delay line of the twin',
    directory: 'build',
    options: [],
    targets: ['orrery-linkd'],
    products: ['orrery-linkd'],
  },
  flows: {
    ...FLOWS,
    title: 'Flow generator of the twin',
    directory: 'build',
    options: [],
    targets: ['orrery-flows'],
    products: ['orrery-flows'],
  },
  'linkd-sanitized': {
    ...LINKD,
    title: 'Delay line with sanitizers',
    directory: 'build-asan',
    options: SANITIZERS,
    targets: ['linkd_test'],
    products: ['linkd_test'],
  },
  'flows-sanitized': {
    ...FLOWS,
    title: 'Flow generator with sanitizers',
    directory: 'build-asan',
    options: SANITIZERS,
    targets: ['flows_test'],
    products: ['flows_test'],
  },
  'board-benches': {
    ...BOARDS,
    title: 'Benchmark of the boards',
    directory: 'build',
    options: [],
    targets: ['board/board-bench'],
    products: ['board/board-bench'],
  },
  'board-tests': {
    ...BOARDS,
    title: 'Tests of the boards',
    directory: 'build',
    options: [],
    targets: ['tests'],
    products: ['board/board_test'],
  },
};

/**
 * @param {keyof typeof BUILDS} name
 * `during`: runs the build, and is given its progress.
 */
export async function nativeBuild(name, { background = false, during = (build) => build(() => undefined) } = {}) {
  const { title, source, depends, directory, options, targets, products } = BUILDS[name];
  const print = fingerprint(depends, [ROOT, ...options, ...targets].join(' '));
  const files = products.map((product) => `${source}/${directory}/${product}`);
  await unlessDone(name, print, files, () =>
    step(title, (note) =>
      during((tell) => {
        const advance = (text) => {
          note(text);
          tell(text);
        };
        return mesonBuild(name, source, directory, { options, targets, background, note: advance });
      }),
    ),
  );
}

/** Whether meson configured the build `directory` at another path, which its files then name: the checkout was copied or moved. */
export function configuredElsewhere(directory) {
  const information = resolve(directory, 'meson-info/meson-info.json');
  return existsSync(information) && JSON.parse(readFileSync(information, 'utf8')).directories?.build !== directory;
}

/** By build directory: the end of the last build in it. */
const lastBuilds = new Map();

/** Runs a build after those in the same directory that were asked for before, whether they succeed or not. */
export function afterBuildsIn(directory, run) {
  const built = (lastBuilds.get(directory) ?? Promise.resolve()).then(run);
  lastBuilds.set(
    directory,
    built.catch(() => undefined),
  );
  return built;
}

/**
 * Configures a meson build, or reconfigures an existing one, and runs ninja on it: one at a time in a directory, where meson
 * and ninja refuse or disturb a second one.
 * @param {string} log name of its log files
 * @param {string} source folder of the meson project, below the checkout; `directory` is in it
 */
export function mesonBuild(log, source, directory, how) {
  return afterBuildsIn(resolve(ROOT, source, directory), () => configureAndBuild(log, source, directory, how));
}

async function configureAndBuild(log, source, directory, { options = [], targets = [], background = false, note }) {
  const at = { cwd: resolve(ROOT, source), background };
  const build = resolve(ROOT, source, directory);
  if (configuredElsewhere(build)) rmSync(build, { recursive: true, force: true });
  const isConfigured = existsSync(resolve(build, 'build.ninja'));
  // What an interrupted configuration left makes meson skip the next one.
  if (!isConfigured) rmSync(resolve(build, 'meson-private'), { recursive: true, force: true });
  const reconfigure = isConfigured ? ['--reconfigure'] : [];
  await run(`meson-${log}`, 'meson', ['setup', ...reconfigure, directory, ...options], at);
  await run(`ninja-${log}`, 'ninja', ['-C', directory, ...targets], {
    ...at,
    onLine: (line) => {
      const match = /^\[(\d+)\/(\d+)\]/.exec(line);
      if (match) note(`${match[1]} of ${match[2]}`);
    },
  });
}
