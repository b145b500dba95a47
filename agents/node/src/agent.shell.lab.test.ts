import { readdirSync, readFileSync } from 'node:fs';
import type { ShellOutput } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { childOf } from './testing/docker-sandbox.js';
import { hostImage } from './testing/host-image.js';
import { filterChain, ImageLab, imagesMissing, NF, REFERENCE } from './testing/image-lab.js';
import { ended } from './testing/lab.js';
import { until } from './testing/scratch.js';

const missing = imagesMissing();
/** Long enough that no other process of this machine has it as its argument. */
const MARK = '86399.25';

let opened = 0;

/** The terminal of a shell, as the server is told of it. */
class Terminal {
  readonly shell = `shell-${opened++}`;
  private taken = 0;

  constructor(private readonly lab: ImageLab) {}

  async open(instance_id = NF): Promise<string | null> {
    const id = `open-${this.shell}`;
    const params = { shell: this.shell, columns: 100, rows: 30 };
    this.lab.server.send({ type: 'call', id, method: 'open_shell', instance_id, params });
    return (await this.lab.server.next('reply', (reply) => reply.id === id, 30_000)).error;
  }

  type(text: string): void {
    this.lab.server.send({ type: 'shell', shell: this.shell, message: { type: 'input', text } });
  }

  get told(): ShellOutput[] {
    return this.lab.server.all('shell').flatMap(({ shell, message }) => (shell === this.shell ? [message] : []));
  }

  get bytes(): Buffer {
    return Buffer.concat(
      this.told.flatMap((one) => (one.type === 'output' ? [Buffer.from(one.base64, 'base64')] : [])),
    );
  }

  /** As a terminal that shows all at once. */
  take(): void {
    const bytes = this.bytes.length - this.taken;
    if (bytes === 0) return;
    this.taken += bytes;
    this.lab.server.send({ type: 'shell', shell: this.shell, message: { type: 'taken', bytes } });
  }

  shows(what: RegExp): Promise<unknown> {
    return until(
      `the terminal shows ${what}`,
      () => {
        this.take();
        return what.test(this.bytes.toString('utf8'));
      },
      20_000,
    );
  }

  async end(): Promise<string> {
    const last = await until(
      'the shell ends',
      () => {
        this.take();
        return this.told.find((one) => one.type === 'ended');
      },
      30_000,
    );
    return (last as { detail: string }).detail;
  }
}

/** Processes that were started in a shell. */
function marked(): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`sleep\0${MARK}`);
    } catch {
      return false;
    }
  }).length;
}

describe.skipIf(missing !== null)(
  `agent with shells in containers${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 180_000 },
  () => {
    it('shows what a program writes at the pace of the terminal, and what is typed reaches it', async () => {
      const lab = await ImageLab.start();
      await lab.desire(filterChain(1, ['udp dport 23 drop']));
      expect(lab.server.all('hello').at(-1)!.capabilities.containers).toMatchObject({ shell: true });
      const terminal = new Terminal(lab);
      expect(await terminal.open()).toBeNull();
      // It is in the container, with its rules, and no rights beyond those of the container.
      terminal.type('nft list ruleset; cat /proc/self/status; echo at-$((40+2))\n');
      await terminal.shows(/at-42/);
      const said = terminal.bytes.toString('utf8');
      expect(said).toContain('dport 23 drop');
      expect(/CapEff:\s*(\w+)/.exec(said)?.[1]).toBe('0000000000001000');
      expect(said).toMatch(/NoNewPrivs:\s*1/);

      // More than a window, of which the terminal takes nothing for now.
      const before = terminal.bytes.length;
      terminal.type('i=0; while test $i -lt 9000; do echo line-$i-0123456789; i=$((i+1)); done; echo all-told\n');
      await until('the window is full', () => terminal.bytes.length - before >= 64 * 1024 - 4096);
      const full = terminal.bytes.length;
      expect(await lab.passed(80)).toBe(3);
      expect(terminal.bytes.length).toBeLessThanOrEqual(full + 4096);
      await terminal.shows(/\nall-told/);
      const lines = terminal.bytes
        .toString('utf8')
        .match(/^line-\d+/gm)!
        .map((line) => Number(line.slice(5)));
      expect(lines).toEqual(Array.from({ length: 9000 }, (_, i) => i));

      terminal.type('exit 7\n');
      expect(await terminal.end()).toBe('the shell ended with exit code 7');
      expect(await lab.passed(80)).toBe(3);
    });

    it('ends what runs in it when it is closed, when the container ends, and when the agent is killed', async () => {
      const lab = await ImageLab.start();
      await lab.desire(filterChain(1, []));
      const busy = async (command: string) => {
        const terminal = new Terminal(lab);
        expect(await terminal.open()).toBeNull();
        terminal.type(`${command}\n`);
        return terminal;
      };
      const inBackground = `sleep ${MARK} & sleep ${MARK}`;
      const closed = await busy(inBackground);
      await until('both run', () => marked() === 2, 20_000);
      lab.server.send({ type: 'shell', shell: closed.shell, message: { type: 'close' } });
      await until('neither runs', () => marked() === 0, 20_000);

      const contained = await busy(inBackground);
      await until('both run', () => marked() === 2, 20_000);
      const { pid } = await lab.state();
      lab.docker.killInside(pid);
      expect(await contained.end()).toMatch(/container|exit code|Docker/);
      await until('neither runs', () => marked() === 0, 20_000);
      await until('its end is told', () => lab.told('instance.ended').length === 1);
      await lab.crosses();

      await busy(inBackground);
      await until('both run', () => marked() === 2, 20_000);
      process.kill(childOf(lab.agent.pid!)!, 'SIGKILL');
      await ended(lab.agent);
      await until('neither runs', () => marked() === 0, 20_000);
      expect(await lab.passed(80)).toBe(3);
    });

    it('says why there is none: not allowed, not running, no shell in the image', async () => {
      const lab = await ImageLab.start({ hasImage: false, flags: ['--nf-shell', 'off'] });
      await hostImage(lab.docker.client, REFERENCE, ['sleep', 'test']);
      const health = { by: 'command', command: ['/bin/test', '-e', '/'], interval_s: 0.5 };
      const bare = { entrypoint: ['/bin/sleep', 'infinity'], files: [], capabilities: [], health };
      lab.server.send({ type: 'desired', spec: filterChain(1, [], { ...bare, reference: 'test/none:1' }) });
      await lab.detail(/does not have/);
      expect(await new Terminal(lab).open()).toContain('allows no shells (orrery-agent --nf-shell on)');
      process.kill(childOf(lab.agent.pid!)!, 'SIGTERM');
      await ended(lab.agent);
      const hellos = lab.server.all('hello').length;
      lab.agent = lab.startAgent('--nf-shell', 'on');
      await until('it is back', () => lab.server.all('hello').length > hellos, 30_000);
      expect(await new Terminal(lab).open()).toContain('does not run');
      await lab.desire(filterChain(2, [], bare));
      expect(await new Terminal(lab).open()).toBe('its image has no shell: there is no /bin/sh in it');
      expect(await new Terminal(lab).open('none.nf.0')).toContain('no instance none.nf.0');
    });
  },
);
