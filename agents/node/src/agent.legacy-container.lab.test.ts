import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type InstanceSpec, LegacyProgram, type NodeSpec, type Observed } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { NFS_FOLDER } from './drivers/container/nf-folder.js';
import { isInstalled } from './drivers/legacy/namespace-commands.js';
import { stemOf } from './drivers/veth-names.js';
import { DockerSandbox, dockerMissing, NF_IMAGE } from './testing/docker-sandbox.js';
import { Lab, NODE_MAC } from './testing/lab.js';
import { filledOnceAsked } from './testing/legacy-lab.js';
import { until } from './testing/scratch.js';
import { instance, nodeSpec, output } from './testing/specs.js';

const missing = dockerMissing() ?? (isInstalled('nft') ? null : 'needs nftables');

const NF = 'leg.nf.0';

function chain(generation: number, nf: Partial<InstanceSpec>): NodeSpec {
  return nodeSpec({
    generation,
    nic: { iface: 'e0', mac: NODE_MAC },
    instances: [
      instance(NF, { driver: 'container', outputs: [output('leg.e1', { kind: 'exit', exit_id: 'leg.exit' })], ...nf }),
    ],
    hops: [{ hop: 1, instance_id: NF, direction: 'forward' }],
    exits: [{ exit_id: 'leg.exit', chain_id: 'leg', direction: 'forward' }],
  });
}

const firewall = (generation: number, rules: string[]) =>
  chain(generation, { nf: 'nftables-firewall', config: { policy: 'accept', rules } });

const ofUser = (generation: number, program: object) =>
  chain(generation, { nf: 'mine', program: LegacyProgram.parse({ preserves: [], ...program }) });

class LegacyContainerLab extends Lab {
  constructor(readonly docker: DockerSandbox) {
    super(docker.enter);
  }

  static async start(spec: NodeSpec): Promise<LegacyContainerLab> {
    const docker = new DockerSandbox();
    await docker.setUp();
    const lab = new LegacyContainerLab(docker);
    lab.seesControlGroups = true;
    await lab.setUp();
    lab.startAgent('--docker', docker.socket, '--nf-image', NF_IMAGE);
    await lab.server.next('hello');
    lab.server.send({ type: 'desired', spec });
    return lab;
  }

  async desire(spec: NodeSpec): Promise<void> {
    this.server.send({ type: 'desired', spec });
    await this.converges(spec.generation);
  }

  converges(generation: number): Promise<Observed> {
    return this.observes(`converged ${generation}`, (it) => it.state === 'converged' && it.generation === generation);
  }

  observes(what: string, fits: (observed: Observed) => boolean): Promise<Observed> {
    const latest = () => {
      const observed = this.server.all('observed').at(-1)?.observed;
      return observed && fits(observed) ? observed : null;
    };
    return until(what, latest, 30_000).catch((error) => {
      throw new Error(`${error.message}\n${this.agentLog.slice(-3000)}`);
    });
  }

  async passed(dport: number, count = 3, seconds = 3): Promise<number> {
    return (await this.exchange({ hop: 1, count, expect: count, dport, seconds })).length;
  }

  crosses(): Promise<unknown> {
    return until('a packet crosses', async () => (await this.passed(80, 1, 0.5)) === 1, 30_000);
  }
}

describe.skipIf(missing !== null)(
  `agent with legacy NFs in containers${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 120_000 },
  () => {
    it('takes rules into the kernel of its namespace, and new ones while packets pass', async () => {
      const lab = await LegacyContainerLab.start(firewall(1, ['udp dport 23 drop']));
      await lab.converges(1);
      await lab.crosses();
      expect([await lab.passed(80), await lab.passed(23, 3, 0.5)]).toEqual([3, 0]);
      const before = await lab.docker.list();
      expect(before.map(({ name }) => name)).toEqual([expect.stringMatching(/-net$/)]);
      await lab.desire(firewall(2, ['udp dport 80 drop']));
      expect([await lab.passed(23), await lab.passed(80, 3, 0.5)]).toEqual([3, 0]);
      expect(await lab.docker.list()).toEqual(before);
    });

    it('passes nothing on without its program, sees no files of the host, and follows what an instance becomes', async () => {
      const script =
        'ls /root /home /etc/shadow; test -e {{dir}}/ran && exit 3; touch {{dir}}/ran; exec sleep infinity';
      const program = {
        forwarding: 'bridge',
        command: ['/bin/sh', '{{dir}}/once'],
        files: [{ name: 'once', content: script }],
      };
      const lab = await LegacyContainerLab.start(ofUser(1, program));
      await lab.converges(1);
      await lab.crosses();
      const state = await lab.instanceState(NF);
      for (const path of ['/root', '/home', '/etc/shadow']) expect(state.log).toMatch(`'${path}': No such file`);
      expect(state).toMatchObject({ limits: { cpus: 1 }, container: { id: expect.any(String) } });
      lab.docker.killInside(state.pid as number);
      await lab.observes('failed', (it) => /ended at once: .*exit code 3/.test(it.instances[0]?.detail ?? ''));
      expect(await lab.passed(80, 3, 0.5)).toBe(0);

      // An NF of the engine, and a program that a container cannot see.
      await lab.desire(chain(2, { nf: 'monitor', config: {} }));
      await lab.crosses();
      lab.server.send({ type: 'desired', spec: ofUser(3, { ...program, command: ['/opt/mine'], packages: ['mine'] }) });
      const { error } = await lab.observes('refused', (it) => it.state === 'failed');
      expect(error).toContain('/opt/mine is not installed here; install mine');
    });

    it('ends a program that fills its folder, and lets its reports have no more than it has', async () => {
      const report = [
        'limits() { grep -E ":(pids|memory):" $1 || grep ^0:: $1; }',
        'test "$(limits /proc/1/cgroup)" = "$(limits /proc/self/cgroup)" && echo same = 1',
        'test "$(ulimit -f)" = 131072 && echo bounded = 1',
      ];
      const fill = `mkdir -p {{dir}}/config.json/x\n${filledOnceAsked(5)}`;
      const program = (script: string) => ({
        forwarding: 'bridge',
        command: ['/bin/sh', '{{dir}}/run'],
        report: ['/bin/sh', '{{dir}}/report'],
        files: [
          { name: 'run', content: `${script}\nexec sleep infinity\n` },
          { name: 'report', content: `${report.join('\n')}\n` },
        ],
        disk_bytes: 4 * 2 ** 20,
      });
      const lab = await LegacyContainerLab.start(ofUser(1, program(fill)));
      const file = (name: string) => join(lab.run_dir, NFS_FOLDER, stemOf(NF), 'program', name);
      await until('it runs', () => existsSync(file('waits')), 30_000);
      writeFileSync(file('go'), '');
      const told = () => lab.server.all('event').some(({ message }) => /its files took 4 MiB/.test(message));
      await until('its end is told', told, 30_000);
      await lab.crosses();
      await until('it runs again', () => existsSync(file('waits')));
      await lab.desire(ofUser(2, program('')));
      await lab.crosses();
      const reported = async () => ((await lab.instanceState(NF)).report as { same?: number }).same;
      await until('it reports', async () => (await reported()) !== undefined);
      const state = await lab.instanceState(NF);
      expect(state).toMatchObject({
        report: { same: 1, bounded: 1 },
        limits: { processes: 256 },
        disk: { limit_bytes: 4 * 2 ** 20, excesses: 1 },
      });
      expect((state.files as { name: string }[]).map(({ name }) => name).sort()).toEqual([
        'config.json',
        'report',
        'run',
        'waits',
      ]);
    });
  },
);
