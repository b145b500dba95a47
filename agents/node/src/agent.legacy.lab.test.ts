import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LegacyProgram } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { isInstalled } from './drivers/legacy/namespace-commands.js';
import { stemOf } from './drivers/veth-names.js';
import { ended, labMissing } from './testing/lab.js';
import { chain, LegacyLab, NF, ofUser, STAMP } from './testing/legacy-lab.js';
import { until } from './testing/scratch.js';

const missing = labMissing() ?? (isInstalled('nft') ? null : 'needs nftables');

const firewall = (generation: number, rules: string[], policy = 'accept') =>
  chain(generation, { nf: 'nftables-firewall', config: { policy, rules } });

const KEPT = { dst_mac: '02:0e:00:07:00:05', src_mac: STAMP, intact: true };

describe.skipIf(missing !== null)(
  `agent with legacy NFs${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 90_000 },
  () => {
    it('bridges frames through nftables, which refuses what its rules say; tag and ingress time stay', async () => {
      const { lab, agent } = await LegacyLab.start(firewall(1, ['udp dport 23 drop']));
      await lab.converges(1);
      await lab.crosses();
      expect(await lab.pass(80, 3)).toMatchObject([KEPT, KEPT, KEPT]);
      expect(await lab.pass(23, 3, 0.5)).toEqual([]);

      // New rules take effect in one step, while packets pass.
      const holder = lab.holder();
      await lab.desire(firewall(2, ['udp dport 80 drop']));
      expect([(await lab.pass(23, 3)).length, await lab.pass(80, 3, 0.5)]).toEqual([3, []]);
      lab.server.send({ type: 'desired', spec: firewall(3, ['udp dprt 80 drop']) });
      const { error } = await lab.observes('refused', (it) => it.state === 'failed');
      expect(error).toContain('nft -f');
      expect([(await lab.pass(23, 3)).length, await lab.pass(80, 3, 0.5)]).toEqual([3, []]);
      await lab.desire(firewall(4, ['udp dport { 22, 23 } drop']));
      expect((await lab.pass(80, 3)).length).toBe(3);
      expect(lab.holder()).toBe(holder);

      // It goes on without the agent, and the next one finds it.
      agent.kill('SIGKILL');
      await ended(agent);
      expect([(await lab.pass(80, 3)).length, await lab.pass(23, 3, 0.5)]).toEqual([3, []]);
      const hellos = lab.server.all('hello').length;
      const next = lab.startAgent();
      await until('it is back', () => lab.server.all('hello').length > hellos);
      await lab.converges(4);
      expect(lab.holder()).toBe(holder);

      // Its namespace ends, and is made anew with the same rules.
      process.kill(holder, 'SIGKILL');
      await until('another namespace', () => lab.server.all('event').some(({ event }) => event === 'instance.ended'));
      await lab.crosses();
      expect(await lab.pass(23, 3, 0.5)).toEqual([]);
      next.kill('SIGTERM');
      expect(await ended(next)).toBe(0);
      expect(lab.interfaces()).toEqual(['e0']);
    });

    it('captures with tcpdump; packets pass also while it does not run', async () => {
      const config = { filter: 'udp port 53', snapshot_bytes: 128, file_mb: 1, files: 2 };
      const { lab, agent } = await LegacyLab.start(chain(1, { nf: 'tcpdump-tap', config }));
      await lab.converges(1);
      await lab.crosses();
      expect(await lab.pass(53, 3)).toMatchObject([KEPT, KEPT, KEPT]);
      const capture = join(lab.run_dir, 'nf', stemOf(NF), 'program', 'capture.pcap0');
      const captured = () => execFileSync('tcpdump', ['-n', '-r', capture], { stdio: 'pipe' }).toString().split('\n');
      await until('three are captured', () => captured().filter((line) => line.includes('10.0.2.2.53')).length === 3);
      expect(captured().filter((line) => line.includes('10.0.2.2.80'))).toEqual([]);
      const { files } = await lab.instanceState(NF);
      expect((files as { name: string }[]).map(({ name }) => name)).toContain('capture.pcap0');

      const pid = await lab.pid();
      expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^NoNewPrivs:\t1$/m);

      process.kill(pid, 'SIGKILL');
      expect((await lab.pass(80, 20)).length).toBe(20);
      await until('it ended', () => lab.server.all('event').some(({ event }) => event === 'instance.ended'));
      await lab.converges(1);
      agent.kill('SIGTERM');
      await ended(agent);
      expect(lab.interfaces()).toEqual(['e0']);
    });

    it('routes for a program of a user, and says what is lost', async () => {
      const rules =
        'flush ruleset\ntable ip f { chain c { type filter hook forward priority 0; udp dport 23 drop; }; }';
      const program = {
        forwarding: 'route',
        setup: [['nft', '-f', '{{dir}}/rules']],
        files: [{ name: 'rules', content: rules }],
      };
      const { lab } = await LegacyLab.start(ofUser(1, program));
      await lab.converges(1);
      await lab.crosses();
      const [packet] = await lab.pass(80);
      expect(packet).toMatchObject({
        dst_mac: '02:0e:00:07:00:00',
        src: '10.0.1.2',
        dst: '10.0.2.2',
        ttl: 63,
        intact: true,
      });
      expect(packet!.src_mac).toMatch(/^06:/);
      expect(packet!.src_mac).not.toBe(STAMP);
      expect(await lab.pass(23, 3, 0.5)).toEqual([]);
    });

    it('goes on with all of its old configuration where a later command of the setup refuses the new one', async () => {
      const program = {
        forwarding: 'bridge',
        setup: [
          ['nft', '-f', '{{dir}}/rules'],
          ['test', '{{port}}', '-lt', '1000'],
        ],
        files: [
          {
            name: 'rules',
            content:
              'flush ruleset\ntable bridge f { chain c { type filter hook forward priority 0; udp dport {{port}} drop; }; }\n',
          },
        ],
      };
      const refusing = (generation: number, port: number) =>
        chain(generation, {
          nf: 'mine',
          config: { port },
          program: LegacyProgram.parse({ preserves: [], ...program }),
        });
      const { lab, agent } = await LegacyLab.start(refusing(1, 23));
      await lab.converges(1);
      await lab.crosses();
      lab.server.send({ type: 'desired', spec: refusing(2, 8080) });
      await lab.observes('refused', (it) => it.state === 'failed');
      expect([(await lab.pass(8080, 3)).length, await lab.pass(23, 3, 0.5)]).toEqual([3, []]);
      agent.kill('SIGTERM');
      await ended(agent);
    });

    it('passes nothing on unprocessed: where a bridged program does not run, no packet comes', async () => {
      const script = 'test -e {{dir}}/ran && { echo no second time; exit 3; }; touch {{dir}}/ran; exec sleep infinity';
      const program = {
        forwarding: 'bridge',
        command: ['/bin/sh', '{{dir}}/once'],
        files: [{ name: 'once', content: script }],
      };
      const { lab, agent } = await LegacyLab.start(ofUser(1, program));
      await lab.converges(1);
      await lab.crosses();
      process.kill(await lab.pid(), 'SIGKILL');
      await lab.observes('failed', (it) => /no second time/.test(it.instances[0]?.detail ?? ''));
      expect([lab.isOpen(), await lab.pass(80, 3, 0.5)]).toEqual([false, []]);
      agent.kill('SIGTERM');
      await ended(agent);
    });

    it('runs no program of a user unless its operator allows it, and none that is not installed', async () => {
      const program = { forwarding: 'bridge', setup: [['true']] };
      const { lab, agent } = await LegacyLab.start(ofUser(1, program), '--legacy-nfs', 'off');
      const refused = await lab.observes('refused', (it) => it.state === 'failed');
      expect(refused.error).toContain('--legacy-nfs on');
      expect(lab.interfaces()).toEqual(['e0']);
      // What came with the agent is not replaced by what a server says.
      await lab.desire(
        chain(2, {
          nf: 'nftables-firewall',
          config: { policy: 'drop', rules: [] },
          program: LegacyProgram.parse({ ...program, preserves: [] }),
        }),
      );
      expect(await lab.pass(80, 3, 0.5)).toEqual([]);
      expect(lab.server.all('hello')[0]!.capabilities.legacy_nfs).toMatchObject({ enabled: false });
      agent.kill('SIGTERM');
      await ended(agent);
      const hellos = lab.server.all('hello').length;
      lab.startAgent();
      await until('it is back', () => lab.server.all('hello').length > hellos);
      lab.server.send({
        type: 'desired',
        spec: ofUser(3, { ...program, setup: [['no-such-program']], packages: ['some-package'] }),
      });
      const lacking = await lab.observes('lacking', (it) => it.state === 'failed' && it.instances.length === 1);
      expect(lacking.error).toContain('no-such-program is not installed here; install some-package');
    });
  },
);
