import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClaimedError, claim } from '../claim.mjs';
import { boardsBuild } from './boards.mjs';
import { debianPackages } from './debian.mjs';
import { fingerprint, isDone, unlessDone } from './fingerprint.mjs';
import { ROOT, VENV, WORK_DIR } from './paths.mjs';
import { run, SetupError, step } from './progress.mjs';

const NODE_BIN = resolve(ROOT, 'node_modules/.bin');

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new SetupError(`Orrery needs Node 20.19 or newer; this is ${process.versions.node}.`);
  }
}

async function npmPackages() {
  const manifests = [
    'package.json',
    'package-lock.json',
    'backend/*/package.json',
    'frontend/package.json',
    'agents/node/package.json',
    'e2e/package.json',
  ];
  const print = fingerprint(manifests, process.versions.modules);
  await unlessDone('npm', print, ['node_modules/.bin/tsc'], () =>
    step('npm packages', () =>
      run('npm-install', 'npm', ['install', '--no-save', '--no-audit', '--no-fund', '--include=dev'], { cwd: ROOT }),
    ),
  );
}

/** The development set holds the run-time set, so it serves both. */
async function pythonEnvironment(dev) {
  const products = ['.venv/bin/python'];
  const print = fingerprint(['twin/requirements*.txt', 'twin/pyproject.toml', 'fpga/requirements.txt']);
  if (!dev && isDone('python-dev', print, products)) return;
  await unlessDone(dev ? 'python-dev' : 'python', print, products, () =>
    step('Python environment', async (note) => {
      note('making it');
      await run('venv', '/usr/bin/python3', ['-m', 'venv', '--system-site-packages', VENV]);
      note('installing packages');
      const requirements = dev
        ? ['-r', 'twin/requirements-dev.txt', '-r', 'fpga/requirements.txt']
        : ['-r', 'twin/requirements.txt'];
      await run(
        'pip',
        `${VENV}/bin/pip`,
        ['install', '--disable-pip-version-check', '-q', ...requirements, '-e', 'twin'],
        {
          cwd: ROOT,
        },
      );
    }),
  );
}

async function buildTypeScript() {
  const print = fingerprint(['tsconfig*.json', 'backend', 'agents/node', 'frontend', 'package-lock.json']);
  await unlessDone(
    'typescript',
    print,
    ['backend/server/dist/main.js', 'frontend/dist/index.html', 'agents/node/dist/agent.mjs'],
    () =>
      step('Server, agent and console', async (note) => {
        note('compiling');
        await run('tsc', `${NODE_BIN}/tsc`, ['-b'], { cwd: ROOT });
        note('bundling the agent');
        await run('agent-bundle', 'npm', ['run', 'bundle', '-w', 'agents/node'], { cwd: ROOT });
        note('bundling the console');
        await run('console-bundle', 'npm', ['run', 'build', '-w', 'frontend'], { cwd: ROOT });
      }),
  );
}

/**
 * @param {string} directory of the build, below agents/
 * @param {string[]} products of the build, below `directory`
 */
async function mesonBuild(title, directory, products, options) {
  const print = fingerprint(
    ['agents/meson*', 'agents/box', 'agents/engine', 'agents/support', 'fpga/rtl/nf_sqli_detector/patterns.txt'],
    options.join(' '),
  );
  const files = products.map((product) => `agents/${directory}/${product}`);
  await unlessDone(directory, print, files, () =>
    step(title, async (note) => {
      const configured = { cwd: resolve(ROOT, 'agents') };
      const reconfigure = existsSync(resolve(ROOT, `agents/${directory}/build.ninja`));
      await run(
        `meson-${directory}`,
        'meson',
        ['setup', ...(reconfigure ? ['--reconfigure'] : []), directory, ...options],
        configured,
      );
      await run(`ninja-${directory}`, 'ninja', ['-C', directory], {
        ...configured,
        onLine: (line) => {
          const match = /^\[(\d+)\/(\d+)\]/.exec(line);
          if (match) note(`${match[1]} of ${match[2]}`);
        },
      });
    }),
  );
}

/**
 * Installs and builds what is missing for a purpose. Whatever has not changed since the last success is left alone.
 * @param {{twin: boolean, test?: boolean}} need
 */
export async function setUp(need) {
  checkNode();
  const release = await alone();
  try {
    await installAndBuild(need);
  } finally {
    await release();
  }
}

/** One set-up of a checkout at a time, since two would write the same files. Gives what ends the claim. */
async function alone() {
  const attempt = () =>
    claim(WORK_DIR, () => `by process ${process.pid}`).catch((error) => {
      if (error instanceof ClaimedError) return null;
      throw error;
    });
  return (
    (await attempt()) ??
    step('Waiting for another command that sets up this checkout', async () => {
      for (;;) {
        const release = await attempt();
        if (release) return release;
        await sleep(500);
      }
    })
  );
}

async function installAndBuild({ twin, test = false }) {
  try {
    execFileSync('git', ['rev-parse', '--git-dir'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    throw new SetupError(`git does not answer for this folder: ${String(error.stderr ?? error.message).trim()}`);
  }
  await debianPackages(['base', ...(twin || test ? ['twin'] : []), ...(test ? ['test'] : [])]);
  await npmPackages();
  if (twin || test) await pythonEnvironment(test);
  await buildTypeScript();
  if (twin || test)
    await mesonBuild('Data-plane engine', 'build', ['build.ninja', 'box/nf-box.tar'], ['--buildtype=release']);
  if (twin || test) await boardsBuild();
  if (test)
    await mesonBuild(
      'NF cores with sanitizers',
      'build-asan',
      ['build.ninja'],
      ['--buildtype=debug', '-Doptimization=1', '-Db_sanitize=address,undefined', '-Dengine=false'],
    );
}
