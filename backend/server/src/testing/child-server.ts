import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Scratch, TestOptions } from './server.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** The built server in a process of its own, to be killed. */
export class ChildServer {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
    readonly output: string,
  ) {}

  static async start(scratch: Scratch, options: TestOptions = {}): Promise<ChildServer> {
    const child = spawn(process.execPath, [MAIN], {
      env: { ...process.env, ...scratch.env(options) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    const url = await new Promise<string>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${output}`)));
      child.stdout!.on('data', (chunk) => {
        output += String(chunk);
        const found = /^listening at (\S+)$/m.exec(output);
        if (found) resolve(found[1]!);
      });
    });
    return new ChildServer(child, url, output);
  }

  /** Ends it and gives its exit code, null when it was killed. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
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
