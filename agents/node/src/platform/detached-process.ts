import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJsonFile, writeDurably } from './durable-file.js';
import { log } from './log.js';
import { identify, isAlive, isStopped, ProcessIdentity, signalProcess } from './process-identity.js';
import { boundLog } from './rotating-log.js';

export interface ProcessCommand {
  command: string;
  args: string[];
  /** Absent: the agent's. */
  env?: NodeJS.ProcessEnv;
  /** Receives standard output and error; bounded. */
  log_file: string;
  pid_file: string;
}

const LIVENESS_PERIOD_MS = 200;

/** A process that outlives its agent and is found again by the next one. */
export class DetachedProcess {
  /** Resolves with how it ended, as far as known: an adopted process has no exit code. */
  readonly ended: Promise<string>;
  private resolveEnded!: (how: string) => void;
  private readonly timer: NodeJS.Timeout;
  private over = false;

  private constructor(
    readonly identity: ProcessIdentity,
    /** Who started it, if not this process, which is then told no exit code. */
    private readonly starter: string | null,
    private readonly files: Pick<ProcessCommand, 'log_file' | 'pid_file'>,
  ) {
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
    this.timer = setInterval(() => this.check(), LIVENESS_PERIOD_MS).unref();
  }

  get adopted(): boolean {
    return this.starter !== null;
  }

  get pid(): number {
    return this.identity.pid;
  }

  get alive(): boolean {
    return !this.over && isAlive(this.identity);
  }

  get isStopped(): boolean {
    return isStopped(this.identity);
  }

  /** Starts it in its own session. Rejects if the program cannot be run. */
  static async start(command: ProcessCommand): Promise<DetachedProcess> {
    mkdirSync(dirname(command.log_file), { recursive: true });
    const output = openSync(command.log_file, 'a', 0o600);
    try {
      const { env = process.env } = command;
      const child = spawn(command.command, command.args, { detached: true, stdio: ['ignore', output, output], env });
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve);
        child.once('error', (error) => reject(new Error(`cannot run ${command.command}: ${error.message}`)));
      });
      const identity = identify(child.pid!);
      if (!identity) throw new Error(`${command.command} ended at once`);
      try {
        writeDurably(command.pid_file, `${JSON.stringify(identity)}\n`);
      } catch (error) {
        // No later agent could find it.
        signalProcess(identity, 'SIGKILL');
        throw error;
      }
      const started = new DetachedProcess(identity, null, command);
      child.once('exit', (code, signal) => started.end(signal ? `signal ${signal}` : `exit code ${code}`));
      child.unref();
      return started;
    } finally {
      closeSync(output);
    }
  }

  /** A process that `starter` has just started, which the next agent finds, too. Null: it is gone. */
  static watch(
    pid: number,
    files: Pick<ProcessCommand, 'log_file' | 'pid_file'>,
    starter: string,
  ): DetachedProcess | null {
    const identity = identify(pid);
    if (!identity) return null;
    writeDurably(files.pid_file, `${JSON.stringify(identity)}\n`);
    return new DetachedProcess(identity, starter, files);
  }

  /** The process of the PID file if it still runs; a stale file is removed. */
  static adopt(files: Pick<ProcessCommand, 'log_file' | 'pid_file'>): DetachedProcess | null {
    const identity = readJsonFile(files.pid_file, ProcessIdentity, (why) => log('warning', why));
    if (identity && isAlive(identity)) return new DetachedProcess(identity, 'an earlier agent', files);
    try {
      rmSync(files.pid_file, { force: true });
    } catch (error) {
      log('warning', `${files.pid_file} is left behind: ${(error as Error).message}`);
    }
    return null;
  }

  /** Asks it to end (by default with SIGTERM), then kills it. Resolves when it is gone. */
  async stop(grace_ms: number, ask: () => unknown = () => signalProcess(this.identity, 'SIGTERM')): Promise<void> {
    if (this.alive) ask();
    const grace = new AbortController();
    const late = sleep(grace_ms, 'late', { signal: grace.signal }).catch(() => 'ended');
    if ((await Promise.race([this.ended, late])) === 'late') {
      signalProcess(this.identity, 'SIGKILL');
      await this.ended;
    }
    grace.abort();
  }

  kill(): void {
    signalProcess(this.identity, 'SIGKILL');
  }

  /** Stops watching; the process keeps running. */
  release(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    // A child's own exit event carries the code.
    if (this.adopted && !isAlive(this.identity)) this.end(`cause unknown: started by ${this.starter}`);
    else boundLog(this.files.log_file);
  }

  private end(how: string): void {
    if (this.over) return;
    this.over = true;
    clearInterval(this.timer);
    rmSync(this.files.pid_file, { force: true });
    this.resolveEnded(how);
  }
}
