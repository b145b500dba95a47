import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stemOf } from './drivers/veth-names.js';
import { makeControlGroup, removeControlGroup } from './platform/cgroup.js';
import { ended, labMissing } from './testing/lab.js';
import { filledOnceAsked, LegacyLab, NF, ofUser } from './testing/legacy-lab.js';
import { until } from './testing/scratch.js';

const missing = labMissing();

const MIB = 2 ** 20;
const LIMIT_BYTES = 4 * MIB;

/** A program that runs a script and then does nothing. */
const running = (script: string, more: object = {}) => ({
  forwarding: 'bridge',
  command: ['/bin/sh', '{{dir}}/run'],
  files: [{ name: 'run', content: `${script}\nexec sleep infinity\n` }],
  disk_bytes: LIMIT_BYTES,
  ...more,
});

class HostileLab extends LegacyLab {
  private agent: ChildProcess | null = null;

  static async run(script: string, more: object = {}, seesControlGroups = false): Promise<HostileLab> {
    const lab = new HostileLab();
    lab.seesControlGroups = seesControlGroups;
    await lab.setUp();
    lab.agent = lab.startAgent();
    await lab.server.next('hello');
    lab.server.send({ type: 'desired', spec: ofUser(1, running(script, more)) });
    return lab;
  }

  file(name: string): string {
    return join(this.run_dir, 'nf', stemOf(NF), 'program', name);
  }

  /** How it ended, so far. */
  ends(): string[] {
    return this.server
      .all('event')
      .filter(({ event }) => event === 'instance.ended')
      .map(({ message }) => message);
  }

  /** Ends the agent, which takes everything that it made with it. */
  async leave(): Promise<void> {
    this.agent!.kill('SIGTERM');
    expect(await ended(this.agent!)).toBe(0);
  }

  /** Runs a command in its network namespace. */
  inside(...command: string[]): string {
    return execFileSync('nsenter', ['-t', String(this.holder()), '-n', ...command], { stdio: 'pipe' }).toString();
  }

  /** Whether it has its interfaces, and they are up. */
  isWhole(): boolean {
    try {
      return ['near', 'far'].every((name) => this.inside('ip', 'link', 'show', 'dev', name).includes('LOWER_UP'));
    } catch {
      return false;
    }
  }

  async disk(): Promise<{ used_bytes: number | null; limit_bytes: number; excesses: number }> {
    return (await this.instanceState(NF)).disk as never;
  }

  /** Kills the program; resolves when another runs and packets cross. */
  async restarts(): Promise<void> {
    const before = await this.pid();
    process.kill(before, 'SIGKILL');
    await until('its end is told', () => this.ends().length > 0);
    await this.converges(1);
    await this.crosses();
    expect(await this.pid()).not.toBe(before);
  }
}

function groupsAreThere(): boolean {
  const name = `orrery-probe-${process.pid}`;
  const { folders } = makeControlGroup(name, { cpus: 1, memory_bytes: 64 * MIB, processes: 16 });
  removeControlGroup(name);
  return folders.some((folder) => folder !== '');
}

describe.skipIf(missing !== null)(
  `agent with legacy NFs that misbehave${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 90_000 },
  () => {
    it('ends a program that fills the disk with many files, says so, and lets it begin with an empty folder', async () => {
      const lab = await HostileLab.run(filledOnceAsked(6));
      await until('it runs', () => existsSync(lab.file('waits')), 30_000);
      writeFileSync(lab.file('go'), '');
      await until('its end is told', () => lab.ends().some((how) => /its files took 4 MiB/.test(how)), 30_000);
      await lab.crosses();
      await until('it runs again', () => existsSync(lab.file('waits')));
      await until('it is measured', async () => (await lab.disk()).used_bytes !== null);
      const { used_bytes, ...disk } = await lab.disk();
      expect(used_bytes).toBeLessThan(MIB);
      expect(disk).toEqual({ limit_bytes: LIMIT_BYTES, excesses: 1, unread: null });
      expect(readdirSync(lab.file('')).sort()).toEqual(['config.json', 'run', 'waits']);
    });

    it('lets no file grow beyond what it may have on disk', async () => {
      const lab = await HostileLab.run('sleep 0.5; exec dd if=/dev/zero of={{dir}}/big bs=1M count=200', {
        disk_bytes: 64 * MIB,
      });
      const told = () => lab.ends().find((it) => /its files|a file of it/.test(it));
      const how = await until('its end is told', told, 30_000);
      expect(how).toMatch(/a file of it grew to 64 MiB|its files took 64 MiB/);
    });

    it('goes on however much it says, of which the last is kept', async () => {
      const lab = await HostileLab.run('while :; do head -c 200000 /dev/zero; sleep 0.05; done', { disk_bytes: MIB });
      await lab.crosses();
      const pid = await lab.pid();
      const kept = lab.file('../nf.log.1');
      await until('the log was cut', () => existsSync(kept));
      const first = statSync(kept);
      // Its time changes before all of it is written.
      const isCutAgain = ({ mtimeMs, size }: Stats) => mtimeMs > first.mtimeMs && size === MIB;
      await until('it was cut again', () => isCutAgain(statSync(kept)));
      expect([await lab.pid(), lab.ends()]).toEqual([pid, []]);
    });

    it('starts again whatever it has left in place of its files', async () => {
      const lab = await HostileLab.run(
        [
          ...['rm {{dir}}/run {{dir}}/config.json', 'mkdir -p {{dir}}/run/x {{dir}}/config.json/x {{dir}}/run.new/x'],
          ...['ln -s / {{dir}}/config.json.new', 'mkfifo {{dir}}/pipe', 'touch {{dir}}/kept', 'chmod 000 {{dir}}/run'],
        ].join('\n'),
      );
      await lab.crosses();
      await until('it is done', () => existsSync(lab.file('kept')));
      await lab.restarts();
      expect(existsSync(lab.file('kept'))).toBe(true);
    });

    it('makes its network namespace anew where it has spoilt its interfaces', async () => {
      const spoil = 'ip link set dev near down; ip link set dev near name gone; ip link add near type dummy';
      const lab = await HostileLab.run(
        `test -e {{dir}}/ran || { touch {{dir}}/ran; sleep 1; ${spoil}; touch {{dir}}/done; }`,
      );
      await until('they are spoilt', () => existsSync(lab.file('done')), 30_000);
      const holder = lab.holder();
      await lab.restarts();
      expect(lab.holder()).not.toBe(holder);
    });

    it('gets back the interfaces that it closes, removes or gives away while it runs', async () => {
      const lab = await HostileLab.run('');
      await lab.crosses();
      for (const harm of ['set dev near down', 'del dev far', `set dev near netns ${lab.outside}`]) {
        lab.inside('ip', 'link', ...harm.split(' '));
        await until(`healed after ${harm}`, () => lab.isWhole(), 30_000);
        await lab.crosses();
      }
    });

    it.skipIf(!groupsAreThere())('ends what has left its namespaces, too', async () => {
      const lab = await HostileLab.run('unshare -Un sleep 100 & echo $! > {{dir}}/child.$$', {}, true);
      await lab.crosses();
      const childIn = (name: string) => Number(readFileSync(lab.file(name), 'utf8'));
      const children = () => readdirSync(lab.file('')).filter((name) => name.startsWith('child.'));
      const pid = await until('it has left something', () => children().map(childIn).find(Boolean));
      await until('it has left', () => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep'));
      expect(readlinkSync(`/proc/${pid}/ns/net`)).not.toBe(readlinkSync(`/proc/${lab.holder()}/ns/net`));
      expect((await lab.instanceState(NF)).limits).toMatchObject({ processes: 256 });
      await lab.restarts();
      await until('it has ended', () => !existsSync(`/proc/${pid}`));
      await lab.leave();
    });
  },
);
