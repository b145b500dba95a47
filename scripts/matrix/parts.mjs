import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { engineAsk, ofctl } from './witness.mjs';

/**
 * The parts of a running twin: how to find a part's process, and how to make what it runs drift from what is wanted.
 * `at(bench)` gives a pid; `drifts` maps a name to `(bench) => Promise<void>`. When it is frozen, what the API tells names
 * `name`, or a chain with an instance that the part `carries`; of a part that `isMute`, the API may not answer.
 */
export const PARTS = [
  {
    name: 'server',
    at: ({ stack }) => stack.serverPid,
    restarts: ({ stack }) => stack.start(),
    told: { isMute: true },
  },
  { name: 'redis', at: ({ stack }) => childOf(stack.serverPid, 'redis-server'), told: { name: 'redis', isMute: true } },
  { name: 'twind', at: twind, told: { name: 'twin' } },
  {
    name: 'agent',
    at: (bench) => childOf(twind(bench), '--node server-1 '),
    told: { name: 'server-1', carries: onServer1 },
  },
  { name: 'switch-agent', at: (bench) => childOf(twind(bench), ' switches --server'), told: { name: 'leaf-1' } },
  {
    name: 'engine',
    told: { name: 'server-1', carries: onServer1 },
    at: (bench) => under(bench, 'orrery-engine --socket', 'a/server-1/'),
    drifts: {
      'empty graph': async ({ stack }) => {
        const graph = { generation: 1, ports: [], modules: [], links: [], tasks: [] };
        await engineAsk(`${stack.runDir}/a/server-1/engine.sock`, 'apply', graph);
      },
    },
  },
  {
    name: 'switch',
    at: vswitchd,
    told: { name: 'leaf-1', carries: () => true },
    drifts: {
      'no entries': async (bench) => ofctl(vswitchd(bench), 'del-flows'),
      'one entry less': async (bench) => removeOneEntry(bench),
      'an entry of another': async (bench) =>
        ofctl(vswitchd(bench), 'add-flow', 'table=0,priority=65000,ip,actions=drop'),
    },
  },
  {
    name: 'link',
    drifts: {
      'nic0 down': async (bench) => {
        const pid = childOf(twind(bench), '--node server-1 ');
        execFileSync('nsenter', ['-t', String(pid), '-n', 'ip', 'link', 'set', 'nic0', 'down']);
      },
    },
  },
  {
    name: 'board',
    at: (bench) => under(bench, 'boardd --id board-1', ''),
    told: { name: 'board-1', carries: ({ slot }) => slot?.board === 'board-1' },
    needs: 'boards',
  },
  {
    name: 'container',
    at: (bench) => inContainer(bench, 'orrery-container-nf run '),
    told: { carries: ({ driver }) => driver === 'container' },
    needs: 'containers',
  },
];

function onServer1({ server }) {
  return server === 'server-1';
}

function twind({ stack }) {
  return find((line) => line.includes('-m orrery_twin ') && line.includes(`--run-dir ${stack.runDir} `));
}

export function vswitchd(bench) {
  return childOf(twind(bench), 'ovs-vswitchd ');
}

/** The process of an application of the twin whose arguments contain `text`; null while it does not run. */
export function application(bench, text) {
  try {
    return childOf(twind(bench), text);
  } catch {
    return null;
  }
}

/** Removes the entry that has most packets: traffic depends on it. */
function removeOneEntry(bench) {
  const pid = vswitchd(bench);
  const packets = (line) => Number(/n_packets=(\d+)/.exec(line)[1]);
  const [busiest] = ofctl(pid, 'dump-flows')
    .filter((line) => line.includes('n_packets='))
    .sort((a, b) => packets(b) - packets(a));
  const table = /table=(\d+)/.exec(busiest)?.[1] ?? 0;
  const match = /(priority=.*) actions=/.exec(busiest)[1].replaceAll(' ', '');
  ofctl(pid, '--strict del-flows', `table=${table},${match}`);
}

/** All processes: pid, parent, command line. */
function processes() {
  return execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8', maxBuffer: 1 << 24 })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter(Boolean)
    .map(([, pid, parent, line]) => ({ pid: Number(pid), parent: Number(parent), line }));
}

function find(matches) {
  const found = processes().find(({ line }) => matches(line));
  if (!found) throw new Error('the process does not run');
  return found.pid;
}

function childOf(parent, text) {
  const found = processes().find((process) => process.parent === parent && process.line.includes(text));
  if (!found) throw new Error(`no process ${text.trim()} runs below ${parent}`);
  return found.pid;
}

/** A process of this stack with `text` in its command line, and `path` below the run directory in line or environment. */
function under({ stack }, text, path) {
  return find((line) => line.includes(text) && line.includes(`${stack.runDir}/${path}`));
}

/** A process with `text` in its command line in a container of this stack's twin. */
function inContainer(bench, text) {
  const line = readFileSync(`/proc/${twind(bench)}/cmdline`, 'utf8').split('\0');
  const cgroup = line[line.indexOf('--cgroup') + 1];
  const isOurs = ({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(cgroup);
    } catch {
      return false;
    }
  };
  const found = processes().find((process) => process.line.includes(text) && isOurs(process));
  if (!found) throw new Error(`no container runs ${text}`);
  return found.pid;
}

/** When the process started, in clock ticks: tells a reused pid. Null if it does not run. */
export function startOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return null;
  }
}
