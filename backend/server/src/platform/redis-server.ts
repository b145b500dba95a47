import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedLog } from './bounded-log.js';
import type { Log } from './log.js';

const START_TIMEOUT_MS = 30_000;
const SETPRIV = '/usr/bin/setpriv';

/**
 * A private Redis on a unix socket, restarted if it dies and killed by the kernel if this process dies.
 *
 * `appendfsync always`: with `everysec` Redis acknowledges writes that it may keep in memory for up to two seconds while a
 * background fsync is slow; a kill would lose acknowledged writes. The write rate here is low
 * (events and desired state, never samples), so the fsync is cheap.
 */
export class RedisServer {
  readonly socketPath: string;
  restarts = 0;
  private child: ChildProcess | null = null;
  private exited: Promise<void> = Promise.resolve();
  private readonly ownLog: BoundedLog;
  private readonly stopping = new AbortController();
  private keeping: Promise<void> = Promise.resolve();

  constructor(
    runDir: string,
    private readonly dataDir: string,
    private readonly log: Log,
  ) {
    this.socketPath = join(runDir, 'redis.sock');
    this.ownLog = new BoundedLog(join(dataDir, 'redis.log'));
  }

  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  /** Starts Redis and waits until it is ready. Throws if another server owns the socket or Redis does not start. */
  async start(): Promise<void> {
    await mkdir(this.dataDir, { recursive: true, mode: 0o700 });
    // A Redis whose server has just been killed exits within milliseconds; one that stays belongs to a live server.
    for (let attempt = 0; await answers(this.socketPath); attempt++) {
      if (attempt === 20)
        throw new Error(`another server uses ${this.socketPath}; choose another ORRERY_RUN_DIR and ORRERY_STATE_DIR`);
      await sleep(100);
    }
    await this.launch();
    this.ownLog.watch();
    this.keeping = this.keep();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.ownLog.unwatch();
    this.child?.kill('SIGTERM');
    await this.keeping;
    await this.exited;
    await rm(this.socketPath, { force: true });
  }

  /** Resolves when Redis is ready. Rejects if it does not start, leaving no process behind. */
  private async launch(): Promise<void> {
    await rm(this.socketPath, { force: true });
    const [command, first] = existsSync(SETPRIV)
      ? [SETPRIV, ['--pdeathsig', 'KILL', 'redis-server']]
      : ['redis-server', []];
    const logFile = await this.ownLog.append();
    let child: ChildProcess;
    try {
      this.stopping.signal.throwIfAborted();
      child = spawn(command, [...first, ...this.options()], {
        cwd: this.dataDir,
        stdio: ['ignore', logFile.fd, logFile.fd],
      });
    } finally {
      void logFile.close();
    }
    this.child = child;
    let ended = false;
    this.exited = new Promise((resolve) => {
      child.once('error', (error) => {
        this.log.error({ error: error.message }, 'redis-server cannot be started');
        ended = true;
        resolve();
      });
      child.once('exit', (code, signal) => {
        if (!this.stopping.signal.aborted) this.log.error({ code, signal }, 'Redis ended');
        ended = true;
        resolve();
      });
    });
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (!(await answers(this.socketPath))) {
      if (ended || Date.now() > deadline) {
        child.kill('SIGKILL');
        await this.exited;
        throw new Error(`Redis did not start; see ${this.ownLog.path} (is redis-server installed?)`);
      }
      await sleep(10);
    }
  }

  /** Restarts Redis whenever it exits, one at a time, because two would write the same append-only file. */
  private async keep(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.exited;
      if (signal.aborted) return;
      this.restarts++;
      for (let delay = 50; !signal.aborted; delay = Math.min(delay * 2, 2000)) {
        try {
          await this.launch();
          break;
        } catch (error) {
          if (signal.aborted) return;
          this.log.error({ error: (error as Error).message }, 'Redis does not restart');
          await sleep(delay, undefined, { signal }).catch(() => undefined);
        }
      }
    }
  }

  private options(): string[] {
    const settings = {
      port: '0',
      unixsocket: this.socketPath,
      unixsocketperm: '700',
      dir: this.dataDir,
      save: '',
      appendonly: 'yes',
      appendfsync: 'always',
      'maxmemory-policy': 'noeviction',
      loglevel: 'warning',
      'shutdown-on-sigterm': 'default',
    };
    return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  }
}

/** Whether a Redis replies at the socket, even if it is still loading. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const finish = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(2000, () => finish(false));
    socket.once('error', () => finish(false));
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => finish(/^[+-]/.test(data.toString())));
  });
}
