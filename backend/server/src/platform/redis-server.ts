import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, statfs } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedLog } from './bounded-log.js';
import type { Log } from './log.js';

const START_TIMEOUT_MS = 30_000;
const BEAT_MS = 1000;
/** A Redis that runs but has not answered for so long is replaced. */
const HUNG_MS = 5000;
/** A Redis that ran this long is restarted at once. */
const STEADY_MS = 10_000;
/** For its end; what was acknowledged is on disk before. */
const END_MS = 5000;
const FIRST_DELAY_MS = 50;
const LAST_DELAY_MS = 30_000;
/** Room without which Redis is not started. */
const LEAST_DISK_BYTES = 16 * 1024 ** 2;

export interface RedisSettings {
  /** Redis refuses changes beyond it; nothing is evicted. */
  readonly maxMemoryBytes: number;
  /** Bytes that this user can still write to the file system of a directory. */
  readonly freeBytes: (directory: string) => Promise<number>;
  readonly diskCheckMs: number;
}

export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
const SETPRIV = '/usr/bin/setpriv';

/**
 * A private Redis on a unix socket, restarted if it dies or hangs, and killed by the kernel if this process dies.
 *
 * `appendfsync always`: with `everysec` Redis acknowledges writes that it may keep in memory for up to two seconds while a
 * background fsync is slow; a kill would lose acknowledged writes. The write rate here is low
 * (events and desired state, never samples), so the fsync is cheap.
 */
export class RedisServer {
  readonly socketPath: string;
  restarts = 0;
  /** Why it is not running and not tried, or null. */
  fault: string | null = null;
  private child: ChildProcess | null = null;
  private exited: Promise<void> = Promise.resolve();
  private readonly ownLog: BoundedLog;
  private readonly stopping = new AbortController();
  private keeping: Promise<unknown> = Promise.resolve();
  private ready = false;

  constructor(
    runDir: string,
    readonly dataDir: string,
    private readonly log: Log,
    private readonly settings: RedisSettings,
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
    this.keeping = Promise.all([this.keep(), this.endHung()]);
  }

  /** Redis writes what it holds and ends; one that hangs is killed. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.ownLog.unwatch();
    const { child } = this;
    child?.kill('SIGTERM');
    const kill = setTimeout(() => child?.kill('SIGKILL'), END_MS);
    await this.keeping;
    await this.exited;
    clearTimeout(kill);
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
    this.ready = false;
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
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!(await answers(this.socketPath))) {
      if (ended || performance.now() > deadline) {
        child.kill('SIGKILL');
        await this.exited;
        throw new Error(`Redis did not start; see ${this.ownLog.path} (is redis-server installed?)`);
      }
      await sleep(10);
    }
    this.ready = true;
  }

  /**
   * Restarts Redis whenever it exits, one at a time, because two would write the same append-only file: at once if it ran
   * for a while, later if it ended soon, and not before its disk has room.
   */
  private async keep(): Promise<void> {
    const { signal } = this.stopping;
    const wait = (ms: number) => sleep(ms, undefined, { signal }).catch(() => undefined);
    let delay = 0;
    while (!signal.aborted) {
      const startedMs = performance.now();
      await this.exited;
      if (signal.aborted) return;
      if (performance.now() - startedMs > STEADY_MS) delay = 0;
      await this.untilDiskHasRoom(wait);
      this.restarts++;
      for (;;) {
        if (delay > 0) await wait(delay);
        if (signal.aborted) return;
        delay = Math.min(Math.max(delay * 2, FIRST_DELAY_MS), LAST_DELAY_MS);
        try {
          await this.launch();
          break;
        } catch (error) {
          if (signal.aborted) return;
          this.log.error({ error: (error as Error).message }, 'Redis does not restart');
        }
      }
    }
  }

  /** Kills a Redis that is ready and then no longer answers, so that it is restarted. */
  private async endHung(): Promise<void> {
    const { signal } = this.stopping;
    let child = this.child;
    let answeredMs = performance.now();
    while (!signal.aborted) {
      await sleep(BEAT_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      if (child !== this.child || !this.ready || (await answers(this.socketPath))) {
        child = this.child;
        answeredMs = performance.now();
      } else if (performance.now() - answeredMs >= HUNG_MS) {
        this.log.error(`Redis has not answered for ${HUNG_MS / 1000} s and is replaced`);
        this.ready = false;
        child?.kill('SIGKILL');
      }
    }
  }

  /** With a full disk every start would end at the first write. */
  private async untilDiskHasRoom(wait: (ms: number) => Promise<unknown>): Promise<void> {
    while (!this.stopping.signal.aborted) {
      const free = await this.settings.freeBytes(this.dataDir).catch(() => null);
      if (free === null || free >= LEAST_DISK_BYTES) break;
      // Told once: the log may be on the same disk.
      if (this.fault === null) {
        this.fault = `the disk of ${this.dataDir} is full; Redis starts again when it has ${LEAST_DISK_BYTES / 1024 ** 2} MB`;
        this.log.error(this.fault);
      }
      await wait(this.settings.diskCheckMs);
    }
    this.fault = null;
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
      maxmemory: String(this.settings.maxMemoryBytes),
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
    socket.once('close', () => finish(false));
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => finish(/^[+-]/.test(data.toString())));
  });
}
