import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';

/** What the kernel, the switch and the engines say, past the product's API. */

/** Packets that left and reached the host on which `pid` runs, over its interface, as the kernel counts them. */
export function packetsAt(pid) {
  const lines = readFileSync(`/proc/${pid}/net/dev`, 'utf8').split('\n').slice(2);
  let [offered, delivered] = [0, 0];
  for (const line of lines) {
    const [name, counts] = line.trim().split(':');
    if (!counts || name === 'lo') continue;
    const fields = counts.trim().split(/\s+/).map(Number);
    delivered += fields[1];
    offered += fields[9];
  }
  return { offered, delivered };
}

/** Entries and groups of the twin's switch, without what changes by itself, sorted. `pid` is that of ovs-vswitchd. */
export function switchEntries(pid) {
  return [...ofctl(pid, 'dump-flows'), ...ofctl(pid, 'dump-groups')]
    .filter((line) => line.includes('actions=') || line.includes('group_id='))
    .map((line) => line.replace(/\b(duration|n_packets|n_bytes|idle_age|hard_age)=[^, ]+,? ?/g, '').trim())
    .sort();
}

/** Lines that `ovs-ofctl` prints for the twin's only bridge, run where ovs-vswitchd `pid` runs. */
export function ofctl(pid, command, ...args) {
  const inside = (...argv) => execFileSync('nsenter', ['-t', String(pid), '-m', '-n', ...argv], { encoding: 'utf8' });
  const [bridge] = inside('ovs-vsctl', '-t', '5', 'list-br').split('\n');
  return inside('ovs-ofctl', '-O', 'OpenFlow15', '-t', '5', ...command.split(' '), bridge, ...args).split('\n');
}

/**
 * What an engine has, as it answers `stats` on its control socket: `nfs`, the instances that it runs, and `queued`, all
 * for which it has a queue, also those on boards and in containers. Throws if it does not answer in 5 s.
 */
export async function engineInstances(socketPath) {
  const { modules } = await engineAsk(socketPath, 'stats', {});
  return instancesAmong(modules.map(({ name }) => name));
}

/** Modules beside instances have a colon in their names, and those of an instance begin with its id. */
export function instancesAmong(modules) {
  const isOwn = (name) => !name.includes(':');
  const queued = modules.flatMap((name) => (name.endsWith(':queue') ? name.slice(0, -':queue'.length) : []));
  return { nfs: modules.filter(isOwn), queued: queued.filter(isOwn) };
}

/** One request to an engine, beside its agent; resolves with the result. */
export function engineAsk(socketPath, method, params) {
  return new Promise((resolve, reject) => {
    const socket = createConnection(socketPath);
    let text = '';
    socket.setTimeout(5000, () => socket.destroy(new Error(`${socketPath} does not answer`)));
    socket.on('error', reject);
    socket.on('data', (data) => {
      text += data;
      if (!text.includes('\n')) return;
      socket.destroy();
      const { result, error } = JSON.parse(text.slice(0, text.indexOf('\n')));
      if (error) reject(new Error(`${method}: ${error.detail}`));
      else resolve(result);
    });
    socket.write(`${JSON.stringify({ id: 1, method, params })}\n`);
  });
}
