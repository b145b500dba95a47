import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { PACKAGE_ROOT } from '../../package-root.js';

const FPGA = resolve(PACKAGE_ROOT, '../../fpga');
const BUILD = join(process.env.ORRERY_BOARD_BUILD ?? join(FPGA, 'build'), 'board');
const LIBRARY = join(BUILD, 'slot');
export const PROFILE = 'ecp5';

const hardwareName = (module: string) => `nf_${module.replaceAll('-', '_')}`;

/** Whether boardd and this module are built. */
export const builtModule = (module: string): boolean =>
  existsSync(join(BUILD, 'boardd')) &&
  existsSync(join(BUILD, 'bitgen')) &&
  existsSync(join(LIBRARY, `${hardwareName(module)}.so`));

export interface BoarddPlace {
  netns: string;
  /** In the format of `--port`. */
  ports: string[];
}

/** A boardd from the build directory, in a folder of the test. */
export class RealBoardd {
  readonly control: string;
  readonly events: string;
  private readonly profile = join(FPGA, `board/profiles/${PROFILE}.json`);
  private child: ChildProcess | null = null;

  constructor(
    private readonly directory: string,
    private readonly time_scale: number,
    private readonly place: BoarddPlace | null = null,
  ) {
    this.control = join(directory, 'b.ctl');
    this.events = join(directory, 'b.evt');
    this.bitgen('--new-key', join(directory, 'key'), '--public-key', join(directory, 'key.pub'));
    onTestFinished(() => this.kill());
  }

  /** Power on; resolves when it serves requests. */
  async start(): Promise<void> {
    const key = join(this.directory, 'key.pub');
    const flags = ['--id', 'board-1', '--profile', this.profile, '--library', LIBRARY, '--images-key', key];
    const sockets = ['--control', this.control, '--events', this.events, '--time-scale', String(this.time_scale)];
    const ports = (this.place?.ports ?? []).flatMap((port) => ['--port', port]);
    const enter = this.place ? ['ip', 'netns', 'exec', this.place.netns] : [];
    const [command, ...args] = [...enter, join(BUILD, 'boardd'), ...flags, ...sockets, ...ports];
    const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.child = child;
    await new Promise<void>((done, fail) => {
      child.stdout.once('data', () => done());
      child.once('exit', (code) => fail(new Error(`boardd ended with ${code}`)));
    });
  }

  /** Power loss. */
  async kill(): Promise<void> {
    const { child } = this;
    this.child = null;
    if (!child) return;
    const gone = new Promise((done) => child.once('exit', done));
    child.kill('SIGKILL');
    await gone;
  }

  writeImage(name: string, module: string, slot = 0): string {
    return this.write(name, ['--module', hardwareName(module), '--slot', String(slot)]);
  }

  /** Of the whole board: by slot, null for an empty one. */
  writeFullImage(name: string, modules: readonly (string | null)[]): string {
    return this.write(name, ['--full', ...modules.flatMap((it) => ['--module', it === null ? '-' : hardwareName(it)])]);
  }

  private write(name: string, what: readonly string[]): string {
    const path = join(this.directory, name);
    this.bitgen(
      '--profile',
      this.profile,
      '--library',
      LIBRARY,
      '--key',
      join(this.directory, 'key'),
      '--output',
      path,
      ...what,
    );
    return path;
  }

  private bitgen(...args: string[]): void {
    execFileSync(join(BUILD, 'bitgen'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  }
}
