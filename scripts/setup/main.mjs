import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClaimedError, claim } from '../claim.mjs';
import { TaskGraph, withNeeds } from '../task-graph.mjs';
import { boardsBuild } from './boards.mjs';
import { endCommands } from './command.mjs';
import { debianPackages } from './debian.mjs';
import { nativeBuild } from './native.mjs';
import { npmPackages, typeScript } from './node.mjs';
import { p4Switch } from './p4-switch.mjs';
import { ROOT, WORK_DIR } from './paths.mjs';
import { SetupError, step } from './progress.mjs';
import { pythonEnvironment } from './python.mjs';

/**
 * What each purpose needs: groups of Debian packages, and parts that are installed or built. `planning` is the console
 * without a twin; `later` names parts that are not waited for.
 */
const PURPOSES = {
  planning: { groups: ['base'], parts: ['typescript'] },
  twin: {
    groups: ['base', 'twin', 'build'],
    parts: ['typescript', 'python', 'engine', 'linkd', 'flows', 'p4-switch', 'boards'],
  },
  bench: {
    groups: ['base', 'twin', 'build', 'bench'],
    parts: ['typescript', 'python', 'benches', 'linkd', 'flows', 'p4-switch', 'board-benches'],
  },
  profile: { groups: ['base', 'twin', 'build'], parts: ['npm', 'benches'] },
  'profile-boards': {
    groups: ['base', 'twin', 'build', 'bench'],
    parts: ['npm', 'python', 'benches', 'board-benches'],
  },
  demo: {
    groups: ['base', 'twin', 'build'],
    parts: ['typescript', 'python', 'engine', 'linkd', 'flows'],
    later: ['p4-switch', 'boards'],
  },
  compose: { groups: [], parts: ['npm'] },
  test: {
    groups: ['base', 'twin', 'build', 'test', 'browser'],
    parts: [
      'typescript',
      'python',
      'engine',
      'linkd',
      'flows',
      'p4-switch',
      'boards',
      'engine-tests',
      'board-tests',
      'sanitized',
      'linkd-sanitized',
      'flows-sanitized',
    ],
  },
};

/**
 * The parts of the product as tasks, in order of importance. Parts that have not changed since their last success take
 * no time. Parts in `later`, and builds needed only by tests, run at low priority.
 */
function partsFor({ groups, later = [] }) {
  const test = groups.includes('test');
  const part = (name, needs, run) => ({ name, needs, run });
  return [
    part('debian', [], () => debianPackages(groups)),
    part('npm', [], npmPackages),
    part('typescript', ['npm'], typeScript),
    part('engine', ['debian'], () => nativeBuild('engine')),
    part('benches', ['engine'], () => nativeBuild('benches')),
    part('python', ['debian'], () => pythonEnvironment(test)),
    part('linkd', ['debian'], () => nativeBuild('linkd')),
    part('flows', ['debian'], () => nativeBuild('flows')),
    part('p4-switch', ['npm', 'engine', 'python'], () => p4Switch({ background: later.includes('p4-switch') })),
    // The engine first: two large C++ builds at once would only delay the first.
    part('boards', ['debian', 'engine'], () => boardsBuild({ background: later.includes('boards') })),
    part('board-benches', ['boards'], () => nativeBuild('board-benches')),
    part('engine-tests', ['engine', 'p4-switch', 'boards'], () => nativeBuild('engine-tests', { background: true })),
    part('board-tests', ['boards', 'engine-tests'], () => nativeBuild('board-tests', { background: true })),
    part('linkd-sanitized', ['linkd', 'board-tests'], () => nativeBuild('linkd-sanitized', { background: true })),
    part('flows-sanitized', ['flows', 'linkd-sanitized'], () => nativeBuild('flows-sanitized', { background: true })),
    part('sanitized', ['flows-sanitized', 'python'], () => nativeBuild('sanitized', { background: true })),
  ];
}

/**
 * Tasks that install and build what a purpose needs: those named by `only` with their dependencies, or all. Run them
 * while holding `claimCheckout`.
 */
export function setUpTasks(purpose, only = null) {
  return tasksOf(PURPOSES[purpose], only);
}

function tasksOf(purpose, only = null) {
  const { parts, later = [] } = purpose;
  return withNeeds(partsFor(purpose), only ?? [...parts, ...later]);
}

/** What a purpose needs, with the browser if wanted. */
export function needsOf(purpose, { browser = false } = {}) {
  const needs = PURPOSES[purpose];
  if (!browser) return needs;
  // Without the twin, no other part needs Debian packages.
  return { ...needs, groups: [...needs.groups, 'browser'], parts: [...new Set([...needs.parts, 'debian'])] };
}

/**
 * Installs and builds what is missing for a purpose. Resolves when all but its `later` parts are ready, with a promise
 * for those. Throws SetupError as soon as a part fails; the others are ended.
 * @param {keyof typeof PURPOSES} purpose
 * @param {{ browser?: boolean }} [more] `browser`: also a browser for the console's pages
 * @returns {Promise<{ later: Promise<void> }>}
 */
export async function setUp(purpose, more) {
  const needs = needsOf(purpose, more);
  const { parts } = needs;
  const release = await claimCheckout();
  const graph = new TaskGraph(tasksOf(needs)).start();
  const all = graph.outcomes().then(async (outcomes) => {
    await release();
    const failed = outcomes.find(({ ok }) => !ok);
    if (failed) throw failed.error;
  });
  all.catch(() => undefined);
  try {
    await Promise.all(parts.map((name) => graph.result(name)));
  } catch (error) {
    await endCommands();
    throw error;
  }
  return { later: all };
}

/**
 * Checks that this is a checkout and that Node is new enough, and waits until no other command is setting it up, since
 * two would write the same files. Returns a function that ends the claim. Throws SetupError.
 */
export async function claimCheckout() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19))
    throw new SetupError(`Orrery needs Node 20.19 or newer; this is ${process.versions.node}.`);
  try {
    execFileSync('git', ['rev-parse', '--git-dir'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    throw new SetupError(`git cannot read this folder: ${String(error.stderr ?? error.message).trim()}`);
  }
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
