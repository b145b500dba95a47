import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CHILD } from './bundle-child.js';
import type { Scratch, TestOptions } from './server.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Where a server ends itself with SIGKILL: before its n-th step (`kill-preload.mjs`) from now on, or right after it. */
export interface KillStep {
  readonly step: number;
  readonly when: 'before' | 'after';
}

/** The built server in a separate process, to be killed. */
export class ChildServer {
  private text = '';

  private constructor(private readonly child: ChildProcess) {
    child.stdout!.on('data', (chunk) => {
      this.text += String(chunk);
    });
  }

  /** Does not wait until it is ready. */
  static begin(scratch: Scratch, options: TestOptions = {}): ChildServer {
    const env = { ...process.env, ...scratch.env(options) };
    return new ChildServer(spawn(process.execPath, [CHILD], { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] }));
  }

  static async start(scratch: Scratch, options: TestOptions = {}): Promise<ChildServer> {
    const server = ChildServer.begin(scratch, options);
    const { child } = server;
    await new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${server.text}`)));
      child.stdout!.on('data', () => server.url && resolve());
    });
    return server;
  }

  /** Resolves once steps count, or it has ended. Step 0: it goes on living. */
  async killAt(point: KillStep): Promise<void> {
    const armed = new Promise((resolve) => {
      this.child.once('message', resolve);
      this.child.once('exit', resolve);
    });
    if (this.isGone) return;
    this.child.send(point, () => undefined);
    await armed;
  }

  /** Whether it has ended. */
  get isGone(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  get output(): string {
    return this.text;
  }

  /** Empty until it is ready. */
  get url(): string {
    return /^listening at (\S+)$/m.exec(this.text)?.[1] ?? '';
  }

  /** Ends it and returns its exit code; null if it was killed. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    if (this.isGone) return this.child.exitCode;
    const exited = new Promise<number | null>((resolve) => this.child.once('exit', resolve));
    this.child.kill(signal);
    return exited;
  }

  static async run(...args: string[]): Promise<{ stdout: string }> {
    return promisify(execFile)(process.execPath, [MAIN, ...args]);
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
