import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BoundedLog } from '../../platform/bounded-log.js';
import { isAlive, livingLauncher } from './living-launcher.js';
import type { TwinHost } from './twin-host.js';

const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 5000;

export interface TwinLaunch {
  readonly launcher: string;
  readonly runDir: string;
  readonly stateDir: string;
  /** Called when the launcher was restarted because twind had exited. */
  readonly onRestart?: () => void;
}

/** The launcher of the twin: starts it, adopts it after a restart of the server, ends it with everything emulated. */
export class TwinProcess implements TwinHost {
  readonly isOurs = true;
  private child: ChildProcess | null = null;
  private adoptedPid: number | null = null;
  /** Since it was last stopped. */
  private hasRun = false;
  private readonly pidFile: string;
  private readonly log: BoundedLog;

  constructor(private readonly launch: TwinLaunch) {
    this.pidFile = join(launch.runDir, 'twin.pid');
    this.log = new BoundedLog(join(launch.stateDir, 'twin.log'));
  }

  /**
   * Ensures that twind answers: a twin that outlived the server is adopted, otherwise one is started. Rejects with the
   * launcher's error message if it gives up, and on abort. True if it was started now.
   */
  async ensure(answers: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    this.log.watch();
    if (await answers()) {
      this.adoptedPid ??= this.child ? null : await this.livingPid();
      this.hasRun = true;
      return false;
    }
    await this.end();
    await this.start(answers, signal);
    if (this.hasRun) this.launch.onRestart?.();
    this.hasRun = true;
    return true;
  }

  async stop(): Promise<void> {
    this.log.unwatch();
    this.hasRun = false;
    await this.end();
  }

  private async end(): Promise<void> {
    const { child } = this;
    this.child = null;
    if (child && child.exitCode === null && child.signalCode === null) {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const hard = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      await exited;
      clearTimeout(hard);
    }
    const pid = this.adoptedPid ?? (child ? null : await this.livingPid());
    this.adoptedPid = null;
    if (pid !== null) await endProcess(pid);
    await rm(this.pidFile, { force: true });
  }

  private async start(answers: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const { launcher, runDir, stateDir } = this.launch;
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    const log = await this.log.begin();
    // The log is a file and not a pipe: the twin must outlive the server.
    const child = spawn(launcher, ['--run-dir', runDir, '--state-dir', stateDir], {
      stdio: ['ignore', log.fd, log.fd],
    });
    this.child = child;
    let failure: string | null = null;
    child.once('error', (error) => {
      failure = error.message;
    });
    child.once('exit', (code, by) => {
      failure ??= `ended with ${code ?? by}`;
      if (this.child === child) this.child = null;
    });
    // Only after the listeners are attached: the process may exit immediately.
    await log.close();
    if (child.pid) await writeFile(this.pidFile, String(child.pid), { mode: 0o600 });
    const deadline = performance.now() + START_LIMIT_MS;
    while (!(await answers())) {
      signal.throwIfAborted();
      if (failure !== null || performance.now() > deadline) {
        const said = (await readFile(this.log.path, 'utf8').catch(() => '')).trim().split('\n').slice(-3).join(' ');
        throw new Error(`${launcher} ${failure ?? 'did not serve in time'}: ${said}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  private async livingPid(): Promise<number | null> {
    return livingLauncher(this.launch.runDir, Number(await readFile(this.pidFile, 'utf8').catch(() => '')));
  }
}

/** Terminates, then kills it. Rejects if even that does not help, e.g. in a system call that never returns. */
async function endProcess(pid: number): Promise<void> {
  const asked = performance.now();
  while (await isAlive(pid)) {
    const waited = performance.now() - asked;
    if (waited > 2 * STOP_LIMIT_MS) throw new Error(`the twin's launcher, process ${pid}, does not end`);
    try {
      process.kill(pid, waited > STOP_LIMIT_MS ? 'SIGKILL' : 'SIGTERM');
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
